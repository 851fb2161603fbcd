; Java. The captures are documented in ../queries.rs.

(method_invocation !object name: (identifier) @call arguments: (_) @arguments)
(method_invocation object: (_) @receiver name: (identifier) @call.member arguments: (_) @arguments)
(object_creation_expression type: (type_identifier) @call.new arguments: (_) @arguments)
(object_creation_expression type: (generic_type (type_identifier) @call.new) arguments: (_) @arguments)
(object_creation_expression type: (scoped_type_identifier (_) @receiver (type_identifier) @call.new) arguments: (_) @arguments)
(object_creation_expression
  type: (generic_type (scoped_type_identifier (_) @receiver (type_identifier) @call.new)) arguments: (_) @arguments)
(method_reference (_) @receiver "::" (identifier) @call.member)

(import_declaration) @import.text

(superclass (type_identifier) @base)
(superclass (generic_type (type_identifier) @base))
(superclass [(scoped_type_identifier) (generic_type (scoped_type_identifier))] @base)
(type_list (type_identifier) @base)
(type_list (generic_type (type_identifier) @base))
(object_creation_expression (class_body)) @anonymous

[(method_declaration) (constructor_declaration) (lambda_expression)] @scope
[(block) (for_statement) (enhanced_for_statement) (try_with_resources_statement) (catch_clause)] @block
(formal_parameter name: (identifier) @binding)
(formal_parameter type: (type_identifier) @type name: (identifier) @binding)
(formal_parameter type: (generic_type (type_identifier) @type) name: (identifier) @binding)
(inferred_parameters (identifier) @binding)
(lambda_expression parameters: (identifier) @binding)
(local_variable_declaration declarator: (variable_declarator name: (identifier) @binding)) @in.block
(local_variable_declaration type: (type_identifier) @type declarator: (variable_declarator name: (identifier) @binding)) @in.block
(local_variable_declaration
  type: (generic_type (type_identifier) @type) declarator: (variable_declarator name: (identifier) @binding)) @in.block
(enhanced_for_statement name: (identifier) @binding) @in.block
(enhanced_for_statement type: (type_identifier) @type name: (identifier) @binding) @in.block
(resource name: (identifier) @binding) @in.block
(resource type: (type_identifier) @type name: (identifier) @binding) @in.block
(catch_formal_parameter name: (identifier) @binding) @in.block
(catch_formal_parameter (catch_type . (type_identifier) @type .) name: (identifier) @binding) @in.block
(field_declaration type: (type_identifier) @type declarator: (variable_declarator name: (identifier) @field))
(field_declaration type: (generic_type (type_identifier) @type) declarator: (variable_declarator name: (identifier) @field))
(type_parameter (type_identifier) @binding)

; references
[(identifier) (type_identifier)] @reference
(method_invocation object: (_) @receiver name: (identifier) @reference.member)
(field_access object: (_) @receiver field: (identifier) @reference.member)
(method_reference (_) @receiver "::" (identifier) @reference.member)
(scoped_type_identifier (_) @receiver (type_identifier) @reference.member)
