; Haskell. The captures are documented in ../queries.rs.
;
; A function that is applied is a call. One that stands alone, or beside an operator, may be a value.

(apply function: (variable) @call)
(apply function: (qualified module: (module) @receiver id: (variable) @call.path))
(infix left_operand: (variable) @call.bare)
(infix left_operand: (qualified module: (module) @receiver id: (variable) @call.path))
(infix right_operand: (variable) @call.bare)
(infix right_operand: (qualified module: (module) @receiver id: (variable) @call.path))
(infix operator: (infix_id (variable) @call))
(infix operator: (infix_id (qualified module: (module) @receiver id: (variable) @call.path)))
(match expression: (variable) @call.bare)
(match expression: (qualified module: (module) @receiver id: (variable) @call.path))
(exp (variable) @call.bare)
(exp (qualified module: (module) @receiver id: (variable) @call.path))
(bind expression: (variable) @call.bare)
(bind expression: (qualified module: (module) @receiver id: (variable) @call.path))

(import) @import.text

(function) @scope
[(do) (let_in) (alternative) (lambda)] @block
(patterns (variable) @binding)
(patterns (parens (variable) @binding))
(bind pattern: (variable) @binding) @in.block
(alternative pattern: (variable) @binding) @in.block
(local_binds (bind name: (variable) @binding))

; references
[(variable) (constructor) (name)] @reference
(qualified module: (module) @receiver id: (_) @reference.path)
