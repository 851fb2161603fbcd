; Scala. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (generic_function function: (identifier) @call) arguments: (_) @arguments)
(call_expression function: (field_expression value: (_) @receiver field: (identifier) @call.member) arguments: (_) @arguments)
(call_expression
  function: (generic_function function: (field_expression value: (_) @receiver field: (identifier) @call.member))
  arguments: (_) @arguments)
(field_expression value: (_) @receiver field: (identifier) @call.member)
(infix_expression left: (_) @receiver operator: (identifier) @call.member)
(instance_expression (type_identifier) @call.new arguments: (_)? @arguments)
(instance_expression (generic_type type: (type_identifier) @call.new) arguments: (_)? @arguments)

(import_declaration) @import.text

(extends_clause type: [(type_identifier) (stable_type_identifier)] @base)
(extends_clause type: (generic_type type: (type_identifier) @base))

[(function_definition) (lambda_expression)] @scope
(template_body) @class
[(block) (case_clause) (for_expression)] @block
(parameter name: (identifier) @binding)
(parameter name: (identifier) @binding type: (type_identifier) @type)
(binding name: (identifier) @binding)
(lambda_expression parameters: (identifier) @binding)
(val_definition pattern: (identifier) @binding) @in.block
(val_definition pattern: (identifier) @binding type: (type_identifier) @type) @in.block
(val_definition pattern: (identifier) @binding value: (instance_expression (type_identifier) @type)) @in.block
(var_definition pattern: (identifier) @binding) @in.block
(enumerator . (identifier) @binding) @in.block
(class_parameter name: (identifier) @field type: (type_identifier) @type)

; references
[(identifier) (type_identifier)] @reference
(field_expression value: (_) @receiver field: (identifier) @reference.member)
