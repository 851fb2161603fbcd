; TypeScript and TSX, in addition to script.scm.

(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause (type_identifier) @base)
(extends_type_clause type: (type_identifier) @base)
(import_statement
  (import_require_clause (identifier) @import.alias source: (string (string_fragment) @import.path))) @import.module
(required_parameter pattern: (identifier) @binding)
(required_parameter pattern: (identifier) @binding type: (type_annotation (type_identifier) @type))
(optional_parameter pattern: (identifier) @binding)
(optional_parameter pattern: (identifier) @binding type: (type_annotation (type_identifier) @type))
(variable_declarator name: (identifier) @binding type: (type_annotation (type_identifier) @type))
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (type_annotation (type_identifier) @type))
(public_field_definition name: (_) @field type: (type_annotation (type_identifier) @type))
(required_parameter pattern: (identifier) @binding type: (type_annotation [(array_type) (predefined_type)] @type))
(required_parameter pattern: (identifier) @binding type: (type_annotation (generic_type name: (type_identifier) @type)))
(optional_parameter pattern: (identifier) @binding type: (type_annotation [(type_identifier) (array_type) (predefined_type)] @type))
(optional_parameter pattern: (identifier) @binding type: (type_annotation (generic_type name: (type_identifier) @type)))
(lexical_declaration
  (variable_declarator name: (identifier) @binding type: (type_annotation [(type_identifier) (array_type) (predefined_type)] @type))) @in.block
(lexical_declaration
  (variable_declarator name: (identifier) @binding type: (type_annotation (generic_type name: (type_identifier) @type)))) @in.block
(public_field_definition name: (_) @field type: (type_annotation [(array_type) (predefined_type)] @type))
(public_field_definition name: (_) @field type: (type_annotation (generic_type name: (type_identifier) @type)))
(public_field_definition name: (_) @field !type value: (new_expression constructor: (identifier) @type))

; references
(type_identifier) @reference
