; C. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @call.member) arguments: (_) @arguments)

(preproc_include path: (string_literal (string_content) @import.path))
(preproc_include path: (system_lib_string) @import.path)
[(preproc_if) (preproc_ifdef)] @condition

(function_definition) @scope
[(compound_statement) (for_statement)] @block
(parameter_declaration declarator: (identifier) @binding)
(parameter_declaration declarator: (pointer_declarator declarator: (identifier) @binding))
(parameter_declaration
  declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @binding))))
(declaration declarator: (identifier) @binding) @in.block
(declaration declarator: (init_declarator declarator: (identifier) @binding)) @in.block
(declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @binding))) @in.block
(declaration declarator: (pointer_declarator declarator: (identifier) @binding)) @in.block

; references
[(identifier) (type_identifier)] @reference
(field_expression argument: (_) @receiver field: (field_identifier) @reference.member)
