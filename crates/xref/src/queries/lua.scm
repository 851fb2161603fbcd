; Lua. The captures are documented in ../queries.rs.

((function_call name: (identifier) @call arguments: (arguments) @arguments) (#not-eq? @call "require"))
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @call.member) arguments: (arguments) @arguments)
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @call.member) arguments: (arguments) @arguments)

(assignment_statement
  (variable_list . name: (identifier) @import.alias .)
  (expression_list . value: (function_call
    name: (identifier) @_f arguments: (arguments . (string content: (string_content) @import.path) .)) .)
  (#eq? @_f "require")) @import.module
(assignment_statement
  (variable_list . name: (identifier) @import.alias .)
  (expression_list . value: (dot_index_expression
    table: (function_call
      name: (identifier) @_f arguments: (arguments . (string content: (string_content) @import.path) .))
    field: (identifier) @import.name) .)
  (#eq? @_f "require"))
(chunk (return_statement (expression_list . (identifier) @default .)))

[(function_declaration) (function_definition)] @scope
[(do_statement) (while_statement) (repeat_statement) (if_statement) (for_statement)] @block
(parameters name: (identifier) @binding)
(variable_declaration (assignment_statement (variable_list name: (identifier) @binding))) @in.block
(variable_declaration (variable_list name: (identifier) @binding)) @in.block
(for_generic_clause (variable_list name: (identifier) @binding)) @in.block
(for_numeric_clause name: (identifier) @binding) @in.block

; references
(identifier) @reference
(dot_index_expression table: (_) @receiver field: (identifier) @reference.member)
(method_index_expression table: (_) @receiver method: (identifier) @reference.member)
