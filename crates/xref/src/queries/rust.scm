; Rust. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (generic_function function: (identifier) @call) arguments: (_) @arguments)
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @call.member) arguments: (_) @arguments)
(call_expression
  function: (generic_function function: (field_expression value: (_) @receiver field: (field_identifier) @call.member))
  arguments: (_) @arguments)
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @call.path) arguments: (_) @arguments)
(call_expression
  function: (generic_function function: (scoped_identifier path: (_) @receiver name: (identifier) @call.path))
  arguments: (_) @arguments)
(macro_invocation macro: (identifier) @call.macro)
(macro_invocation macro: (scoped_identifier path: (_) @receiver name: (identifier) @call.macro))
(struct_expression name: (type_identifier) @call.new)
(struct_expression name: (scoped_type_identifier path: (_) @receiver name: (type_identifier) @call.new))
(token_tree (identifier) @call.loose . (token_tree) @arguments (#match? @arguments "^\\("))

(use_declaration argument: (_) @import.text)
(mod_item name: (identifier) @import.mod !body)
(source_file (macro_invocation (token_tree) @import.items))
(declaration_list (macro_invocation (token_tree) @import.items))

(function_signature_item) @scope
[(function_item) (closure_expression)] @scope
[(block) (match_arm) (if_expression) (while_expression) (for_expression)] @block
(parameter pattern: (identifier) @binding)
(parameter pattern: (identifier) @binding type: (type_identifier) @type)
(parameter pattern: (identifier) @binding type: (reference_type type: (type_identifier) @type))
(closure_parameters (identifier) @binding)
(closure_parameters (parameter pattern: (identifier) @binding))
(let_declaration pattern: (identifier) @binding) @in.block
(let_declaration pattern: (identifier) @binding type: (type_identifier) @type) @in.block
(let_declaration pattern: (identifier) @binding type: (reference_type type: (type_identifier) @type)) @in.block
(let_declaration pattern: (identifier) @binding value: (struct_expression name: (type_identifier) @type)) @in.block
(let_declaration pattern: (_ (identifier) @binding)) @in.block
(let_condition pattern: (_ (identifier) @binding)) @in.block
(match_pattern (_ (identifier) @binding)) @in.block
(for_expression pattern: (identifier) @binding) @in.block
(for_expression pattern: (_ (identifier) @binding)) @in.block
(field_declaration name: (field_identifier) @field type: (type_identifier) @type)
(field_declaration name: (field_identifier) @field type: (reference_type type: (type_identifier) @type))

; references
[(identifier) (type_identifier)] @reference
(scoped_identifier path: (_) @receiver name: (identifier) @reference.path)
(scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.path)
(field_expression value: (_) @receiver field: (field_identifier) @reference.member)
