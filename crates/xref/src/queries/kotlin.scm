; Kotlin. The captures are documented in ../queries.rs.

(call_expression . (identifier) @call . (value_arguments)? @arguments (annotated_lambda)? @trailing)
(call_expression . (navigation_expression (_) @receiver (identifier) @call.member .) . (value_arguments)? @arguments (annotated_lambda)? @trailing)
(infix_expression . (_) @receiver . (identifier) @call.member)

(import) @import.text

(delegation_specifier (user_type) @base)
(delegation_specifier (constructor_invocation (user_type) @base))

[(function_declaration) (lambda_literal) (anonymous_function) (secondary_constructor) (getter) (setter)] @scope
(class_body) @class
[(block) (for_statement) (catch_block)] @block
(parameter . (identifier) @binding)
(parameter . (identifier) @binding (user_type . (identifier) @type .))
(lambda_parameters (variable_declaration (identifier) @binding))
(property_declaration (variable_declaration (identifier) @binding)) @in.block
(property_declaration (variable_declaration (identifier) @binding (user_type . (identifier) @type .))) @in.block
(multi_variable_declaration (variable_declaration (identifier) @binding))
(for_statement (variable_declaration (identifier) @binding)) @in.block
(class_parameter (identifier) @field (user_type . (identifier) @type .))
(class_body (property_declaration (variable_declaration (identifier) @field (user_type . (identifier) @type .))))

; references
(identifier) @reference
(navigation_expression (_) @receiver (identifier) @reference.member .)
