; Python. The captures are documented in ../queries.rs.

(call function: (identifier) @call arguments: (_) @arguments)
(call function: (attribute object: (_) @receiver attribute: (identifier) @call.member) arguments: (_) @arguments)
(decorator (identifier) @call)
(decorator (attribute object: (_) @receiver attribute: (identifier) @call.member))

(import_statement name: (dotted_name) @import.path)
(import_statement name: (aliased_import name: (dotted_name) @import.path alias: (identifier) @import.alias))
(import_from_statement module_name: (_) @import.path name: (dotted_name) @import.name)
(import_from_statement
  module_name: (_) @import.path
  name: (aliased_import name: (dotted_name) @import.name alias: (identifier) @import.alias))
(import_from_statement module_name: (_) @import.path (wildcard_import) @import.all)

(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @base)))

(class_definition) @class
[(function_definition) (lambda) (list_comprehension) (set_comprehension) (dictionary_comprehension)
 (generator_expression)] @scope
(parameters [(identifier) @binding (_ . (identifier) @binding)])
(parameters [(default_parameter name: (identifier) @binding) (typed_default_parameter name: (identifier) @binding)])
(parameters (typed_parameter (identifier) @binding type: (type [(identifier) (attribute)] @type)))
(parameters (typed_default_parameter name: (identifier) @binding type: (type [(identifier) (attribute)] @type)))
(lambda_parameters (identifier) @binding)
(lambda_parameters (default_parameter name: (identifier) @binding))
(assignment left: (identifier) @binding)
(assignment left: (identifier) @binding type: (type [(identifier) (attribute)] @type))
(assignment left: (identifier) @binding right: (call function: [(identifier) (attribute)] @type.call))
(assignment left: (pattern_list (identifier) @binding))
(assignment left: (tuple_pattern (identifier) @binding))
(augmented_assignment left: (identifier) @binding)
(named_expression name: (identifier) @binding)
(for_statement left: (identifier) @binding)
(for_statement left: (_ (identifier) @binding))
(for_in_clause left: (identifier) @binding)
(for_in_clause left: (_ (identifier) @binding))
(as_pattern alias: (as_pattern_target (identifier) @binding))

; references
(identifier) @reference
(attribute object: (_) @receiver attribute: (identifier) @reference.member)
