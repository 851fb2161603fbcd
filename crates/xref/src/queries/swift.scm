; Swift. The captures are documented in ../queries.rs.

(call_expression . (simple_identifier) @call . (call_suffix) @arguments)
(call_expression . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @call.member)) . (call_suffix) @arguments)

(import_declaration (identifier) @import.path)

(inheritance_specifier inherits_from: (user_type) @base)

[(function_declaration) (lambda_literal) (init_declaration) (computed_property) (subscript_declaration)] @scope
[(statements) (for_statement) (if_statement) (guard_statement) (catch_block)] @block
(parameter name: (simple_identifier) @binding)
(parameter name: (simple_identifier) @binding (user_type . (type_identifier) @type .))
(lambda_parameter name: (simple_identifier) @binding)
(property_declaration name: (pattern bound_identifier: (simple_identifier) @binding)) @in.block
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @binding)
  (type_annotation (user_type . (type_identifier) @type .))) @in.block
(for_statement item: (pattern bound_identifier: (simple_identifier) @binding)) @in.block
(class_body) @class
(class_body (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @field)
  (type_annotation (user_type . (type_identifier) @type .))))

; references
[(simple_identifier) (type_identifier)] @reference
(navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.member))
