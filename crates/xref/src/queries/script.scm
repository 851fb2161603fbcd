; Patterns shared by JavaScript and TypeScript. The captures are documented in ../queries.rs.

(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression
  function: (member_expression object: (_) @receiver property: [(property_identifier) (private_property_identifier)] @call.member)
  arguments: (_) @arguments)
(call_expression
  function: (member_expression object: (identifier) @call.applied property: (property_identifier) @_m)
  (#any-of? @_m "call" "apply" "bind"))
(call_expression
  function: (member_expression
    object: (member_expression
      object: (_) @receiver property: [(property_identifier) (private_property_identifier)] @call.applied)
    property: (property_identifier) @_m)
  (#any-of? @_m "call" "apply" "bind"))
(new_expression constructor: (identifier) @call.new arguments: (_)? @arguments)
(new_expression
  constructor: (member_expression object: (_) @receiver property: (property_identifier) @call.new)
  arguments: (_)? @arguments)

(import_statement (import_clause (identifier) @import.alias) source: (string (string_fragment) @import.path)) @import.default
(import_statement
  (import_clause (named_imports (import_specifier name: (identifier) @import.name alias: (identifier)? @import.alias)))
  source: (string (string_fragment) @import.path))
(import_statement
  (import_clause (namespace_import (identifier) @import.alias)) source: (string (string_fragment) @import.path)) @import.module
(export_statement
  (export_clause (export_specifier name: (identifier) @import.name alias: (identifier)? @import.alias))
  source: (string (string_fragment) @import.path)) @import.export
(export_statement "*" . "from" source: (string (string_fragment) @import.path)) @import.all @import.export
(export_statement
  !source (export_clause (export_specifier name: (identifier) @import.name alias: (identifier) @import.alias))) @import.export
(variable_declarator
  name: (identifier) @import.alias
  value: (call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import.path) .))
  (#eq? @_f "require")) @import.module
(variable_declarator
  name: (identifier) @import.alias
  value: (member_expression
    object: (call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import.path) .))
    property: (property_identifier) @import.name)
  (#eq? @_f "require"))
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @import.name)
  value: (call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import.path) .))
  (#eq? @_f "require"))
(variable_declarator
  name: (object_pattern (pair_pattern key: (property_identifier) @import.name value: (identifier) @import.alias))
  value: (call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import.path) .))
  (#eq? @_f "require"))

(assignment_expression
  left: (member_expression object: (identifier) @_m property: (property_identifier) @_e)
  right: (call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import.path) .))
  (#eq? @_m "module") (#eq? @_e "exports") (#eq? @_f "require")) @import.default @import.export
(assignment_expression
  left: (member_expression object: (identifier) @_e property: (property_identifier) @import.alias)
  right: (identifier) @import.name
  (#eq? @_e "exports")) @import.export
(assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @_m property: (property_identifier) @_e)
    property: (property_identifier) @import.alias)
  right: (identifier) @import.name
  (#eq? @_m "module") (#eq? @_e "exports")) @import.export
(assignment_expression
  left: (member_expression object: (identifier) @_m property: (property_identifier) @_e)
  right: (object (pair key: (property_identifier) @import.alias value: (identifier) @import.name))
  (#eq? @_m "module") (#eq? @_e "exports")) @import.export
(export_statement "default" declaration: (_ name: (_) @default))
(export_statement "default" value: (identifier) @default)
(assignment_expression
  left: (member_expression object: (identifier) @_m property: (property_identifier) @_e) right: (identifier) @default
  (#eq? @_m "module") (#eq? @_e "exports"))

[(function_declaration) (function_expression) (arrow_function) (method_definition) (generator_function_declaration)
 (generator_function)] @scope
[(statement_block) (for_statement) (for_in_statement) (catch_clause)] @block
(arrow_function parameter: (identifier) @binding)
(rest_pattern (identifier) @binding)
(assignment_pattern left: (identifier) @binding)
(object_pattern (shorthand_property_identifier_pattern) @binding)
(object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @binding))
(pair_pattern value: (identifier) @binding)
(array_pattern (identifier) @binding)
(lexical_declaration (variable_declarator name: (identifier) @binding)) @in.block
(lexical_declaration
  (variable_declarator name: (identifier) @binding value: (new_expression constructor: (identifier) @type))) @in.block
(lexical_declaration
  (variable_declarator name: (identifier) @binding value: [(array) (string) (template_string) (regex)] @type)) @in.block
(variable_declaration (variable_declarator name: (identifier) @binding))
(variable_declaration (variable_declarator name: (identifier) @binding value: (new_expression constructor: (identifier) @type)))
(for_in_statement left: (identifier) @binding) @in.block
(catch_clause parameter: (identifier) @binding) @in.block

; references
[(identifier) (shorthand_property_identifier)] @reference
(member_expression object: (_) @receiver property: (property_identifier) @reference.member)
