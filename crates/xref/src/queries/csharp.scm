; C#. The captures are documented in ../queries.rs.

(invocation_expression function: (identifier) @call arguments: (_) @arguments)
(invocation_expression function: (generic_name (identifier) @call) arguments: (_) @arguments)
(invocation_expression
  function: (member_access_expression name: [(identifier) @call.member (generic_name (identifier) @call.member)]) @member
  arguments: (_) @arguments)
(invocation_expression
  function: (conditional_access_expression condition: (_) @receiver
    (member_binding_expression name: [(identifier) @call.member (generic_name (identifier) @call.member)]))
  arguments: (_) @arguments)
(object_creation_expression type: (identifier) @call.new arguments: (_)? @arguments)
(object_creation_expression type: (generic_name (identifier) @call.new) arguments: (_)? @arguments)
(object_creation_expression type: (qualified_name qualifier: (_) @receiver name: (identifier) @call.new) arguments: (_)? @arguments)

(using_directive) @import.text

(base_list [(identifier) (qualified_name)] @base)
(base_list (generic_name (identifier) @base))

[(method_declaration) (constructor_declaration) (local_function_statement) (lambda_expression) (accessor_declaration)
 (property_declaration) (operator_declaration)] @scope
[(block) (for_statement) (foreach_statement) (using_statement) (catch_clause)] @block
(parameter name: (identifier) @binding)
(parameter type: (identifier) @type name: (identifier) @binding)
(parameter type: (generic_name (identifier) @type) name: (identifier) @binding)
(lambda_expression parameters: (implicit_parameter) @binding)
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @binding))) @in.block
(local_declaration_statement
  (variable_declaration type: (identifier) @type (variable_declarator name: (identifier) @binding))) @in.block
(local_declaration_statement
  (variable_declaration type: (implicit_type)
    (variable_declarator name: (identifier) @binding (object_creation_expression type: (identifier) @type)))) @in.block
(foreach_statement left: (identifier) @binding) @in.block
(foreach_statement type: (identifier) @type left: (identifier) @binding) @in.block
(catch_declaration name: (identifier) @binding) @in.block
(field_declaration (variable_declaration type: (identifier) @type (variable_declarator name: (identifier) @field)))
(property_declaration type: (identifier) @type name: (identifier) @field)

; references
(identifier) @reference
(member_access_expression expression: (_) @receiver name: (identifier) @reference.member)
