; PHP. The captures are documented in ../queries.rs.

(function_call_expression function: (name) @call arguments: (_) @arguments)
(function_call_expression function: (qualified_name) @call.qualified arguments: (_) @arguments)
(member_call_expression object: (_) @receiver name: (name) @call.member arguments: (_) @arguments)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @call.member arguments: (_) @arguments)
(scoped_call_expression scope: (_) @receiver name: (name) @call.path arguments: (_) @arguments)
(object_creation_expression (name) @call.new (arguments)? @arguments)
(object_creation_expression (qualified_name) @call.qualified (arguments)? @arguments)

(namespace_use_declaration) @import.text

(base_clause [(name) (qualified_name)] @base)
(class_interface_clause [(name) (qualified_name)] @base)
(class_declaration body: (declaration_list (use_declaration [(name) (qualified_name)] @base)))

[(function_definition) (method_declaration) (anonymous_function) (arrow_function)] @scope
(simple_parameter name: (variable_name) @binding)
(simple_parameter type: (named_type (name) @type) name: (variable_name) @binding)
(simple_parameter type: (optional_type (named_type (name) @type)) name: (variable_name) @binding)
(assignment_expression left: (variable_name) @binding)
(assignment_expression left: (variable_name) @binding right: (object_creation_expression (name) @type))
(foreach_statement (variable_name) @binding)
(catch_clause name: (variable_name) @binding)
(property_declaration type: (named_type (name) @type) (property_element name: (variable_name (name) @field)))
(property_promotion_parameter type: (named_type (name) @type) name: (variable_name (name) @field))

; references
(name) @reference
(member_call_expression object: (_) @receiver name: (name) @reference.member)
(member_access_expression object: (_) @receiver name: (name) @reference.member)
(scoped_call_expression scope: (_) @receiver name: (name) @reference.path)
(class_constant_access_expression (_) @receiver (name) @reference.path)
