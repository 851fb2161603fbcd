; Go. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (parenthesized_expression (identifier) @call) arguments: (_) @arguments)
(call_expression
  function: (selector_expression operand: (_) @receiver field: (field_identifier) @call.member) arguments: (_) @arguments)
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(call_expression function: (index_expression operand: (identifier) @call) arguments: (_) @arguments)
(composite_literal type: (type_identifier) @call.new)
(composite_literal type: (qualified_type package: (package_identifier) @receiver name: (type_identifier) @call.new))

(import_spec !name path: (_) @import.path)
(import_spec name: (package_identifier) @import.alias path: (_) @import.path)
(import_spec name: (dot) @import.all path: (_) @import.path)

(field_declaration !name type: [(type_identifier) (qualified_type)] @base)
(field_declaration !name type: (pointer_type [(type_identifier) (qualified_type)] @base))
(interface_type (type_elem (type_identifier) @base))

[(function_declaration) (method_declaration) (func_literal)] @scope
[(block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement) (expression_case) (type_case)
 (communication_case)] @block
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @self)))
(parameter_declaration name: (identifier) @binding)
(parameter_declaration name: (identifier) @binding type: [(type_identifier) (qualified_type)] @type)
(parameter_declaration name: (identifier) @binding type: (pointer_type [(type_identifier) (qualified_type)] @type))
(parameter_declaration
  name: (identifier) @binding type: (generic_type type: (type_identifier) @type))
(variadic_parameter_declaration name: (identifier) @binding)
(short_var_declaration left: (expression_list (identifier) @binding)) @in.block
(short_var_declaration
  left: (expression_list . (identifier) @binding .)
  right: (expression_list . (unary_expression operand: (composite_literal type: [(type_identifier) (qualified_type)] @type)) .)) @in.block
(short_var_declaration
  left: (expression_list . (identifier) @binding .)
  right: (expression_list . (composite_literal type: [(type_identifier) (qualified_type)] @type) .)) @in.block
(var_spec name: (identifier) @binding) @in.block
(var_spec name: (identifier) @binding type: [(type_identifier) (qualified_type)] @type) @in.block
(var_spec name: (identifier) @binding type: (pointer_type [(type_identifier) (qualified_type)] @type)) @in.block
(const_spec name: (identifier) @binding) @in.block
(range_clause left: (expression_list (identifier) @binding)) @in.block
(field_declaration name: (field_identifier) @field type: [(type_identifier) (qualified_type)] @type)
(field_declaration name: (field_identifier) @field type: (pointer_type [(type_identifier) (qualified_type)] @type))

; references
[(identifier) (type_identifier)] @reference
(selector_expression operand: (_) @receiver field: (field_identifier) @reference.member)
(qualified_type package: (_) @receiver name: (type_identifier) @reference.member)
