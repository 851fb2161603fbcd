; Zig. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call)
(call_expression function: (field_expression object: (_) @receiver member: (identifier) @call.member))

(variable_declaration
  (identifier) @import.alias
  (builtin_function (builtin_identifier) @_f (arguments . (string (string_content) @import.path) .))
  (#eq? @_f "@import")) @import.module
(variable_declaration
  (identifier) @import.alias
  (field_expression
    object: (builtin_function (builtin_identifier) @_f (arguments . (string (string_content) @import.path) .))
    member: (identifier) @import.name)
  (#eq? @_f "@import"))

(function_declaration) @scope
[(block) (if_statement) (for_statement) (while_statement) (switch_case)] @block
[(struct_declaration) (union_declaration) (enum_declaration) (opaque_declaration)] @class
(parameter name: (identifier) @binding)
(parameter name: (identifier) @binding type: (identifier) @type)
(parameter name: (identifier) @binding type: (pointer_type (identifier) @type))
(variable_declaration . (identifier) @binding) @in.block
(variable_declaration . (identifier) @binding type: (identifier) @type) @in.block
(payload (identifier) @binding) @in.block
(container_field name: (identifier) @field type: (identifier) @type)
(container_field name: (identifier) @field type: (pointer_type (identifier) @type))

; references
(identifier) @reference
(field_expression object: (_) @receiver member: (identifier) @reference.member)
