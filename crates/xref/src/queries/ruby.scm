; Ruby. The captures are documented in ../queries.rs.

(call !receiver method: (identifier) @call arguments: (_)? @arguments)
(call receiver: (_) @receiver method: [(identifier) (constant)] @call.member arguments: (_)? @arguments)
(body_statement (identifier) @call.bare)
(program (identifier) @call.bare)
(then (identifier) @call.bare)
(argument_list (identifier) @call.bare)
(assignment right: (identifier) @call.bare)
(if condition: (identifier) @call.bare)
(if_modifier condition: (identifier) @call.bare)
(unless_modifier condition: (identifier) @call.bare)
(interpolation (identifier) @call.bare)
(binary left: (identifier) @call.bare)
(binary right: (identifier) @call.bare)
(block_body (identifier) @call.bare)

(call method: (identifier) @_m arguments: (argument_list . (string (string_content) @import.path) .) (#eq? @_m "require_relative"))
(call method: (identifier) @_m arguments: (argument_list . (string (string_content) @import.path) .) (#eq? @_m "require"))

(superclass [(constant) (scope_resolution)] @base)
(call !receiver method: (identifier) @_m arguments: (argument_list [(constant) (scope_resolution)] @base) (#any-of? @_m "include" "prepend"))

[(class) (module)] @class
[(method) (singleton_method) (block) (do_block) (lambda)] @scope
(method_parameters (identifier) @binding)
(method_parameters (_ name: (identifier) @binding))
(block_parameters (identifier) @binding)
(block_parameters (_ name: (identifier) @binding))
(lambda_parameters (identifier) @binding)
(assignment left: (identifier) @binding)
(assignment left: (identifier) @binding
  right: (call receiver: [(constant) (scope_resolution)] @type method: (identifier) @_n) (#eq? @_n "new"))
(operator_assignment left: (identifier) @binding)
(left_assignment_list (identifier) @binding)
(exception_variable (identifier) @binding)
(for pattern: (identifier) @binding)

; references
[(identifier) (constant)] @reference
(call receiver: (_) @receiver method: (identifier) @reference.member)
(scope_resolution scope: (_) @receiver name: (constant) @reference.path)
