; C++. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (template_function name: (identifier) @call) arguments: (_) @arguments)
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @call.member) arguments: (_) @arguments)
(call_expression
  function: (field_expression argument: (_) @receiver field: (template_method name: (field_identifier) @call.member))
  arguments: (_) @arguments)
(call_expression
  function: (field_expression argument: (_) @receiver field: (dependent_name (template_method name: (field_identifier) @call.member)))
  arguments: (_) @arguments)
(call_expression function: (qualified_identifier) @call.qualified arguments: (_) @arguments)
(new_expression type: (type_identifier) @call.new arguments: (_)? @arguments)
(new_expression type: (qualified_identifier) @call.qualified arguments: (_)? @arguments)
(compound_literal_expression type: (type_identifier) @call.new)
(declaration type: (type_identifier) @call.new declarator: (init_declarator value: [(argument_list) (initializer_list)] @arguments))

(preproc_include path: (string_literal (string_content) @import.path))
(preproc_include path: (system_lib_string) @import.path)
[(preproc_if) (preproc_ifdef)] @condition

(base_class_clause [(type_identifier) (qualified_identifier)] @base)
(base_class_clause (template_type name: (type_identifier) @base))

[(function_definition) (lambda_expression)] @scope
[(compound_statement) (for_statement) (for_range_loop) (catch_clause)] @block
(parameter_declaration declarator: (identifier) @binding)
(parameter_declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (identifier) @binding)
(parameter_declaration declarator: (reference_declarator (identifier) @binding))
(parameter_declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (reference_declarator (identifier) @binding))
(parameter_declaration declarator: (pointer_declarator declarator: (identifier) @binding))
(parameter_declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (pointer_declarator declarator: (identifier) @binding))
(optional_parameter_declaration declarator: (identifier) @binding)
(declaration declarator: (identifier) @binding) @in.block
(declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (identifier) @binding) @in.block
(declaration declarator: (init_declarator declarator: (identifier) @binding)) @in.block
(declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (init_declarator declarator: (identifier) @binding)) @in.block
(declaration
  declarator: (init_declarator declarator: (identifier) @binding value: (new_expression type: [(type_identifier) (qualified_identifier)] @type))) @in.block
(declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @binding))) @in.block
(declaration
  type: [(type_identifier) (qualified_identifier)] @type declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @binding))) @in.block
(declaration declarator: (init_declarator declarator: (reference_declarator (identifier) @binding))) @in.block
(declaration
  type: [(type_identifier) (qualified_identifier)] @type declarator: (init_declarator declarator: (reference_declarator (identifier) @binding))) @in.block
(for_range_loop declarator: (_) @binding) @in.block
(field_declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (field_identifier) @field)
(field_declaration type: [(type_identifier) (qualified_identifier)] @type declarator: (pointer_declarator declarator: (field_identifier) @field))

; references
[(identifier) (type_identifier) (namespace_identifier)] @reference
(field_expression argument: (_) @receiver field: (field_identifier) @reference.member)
(qualified_identifier scope: (_) @receiver name: (_) @reference.path)
