; Elixir. The captures are documented in ../queries.rs.
;
; Parentheses call a function, never a variable, so variables do not hide functions.

((call target: (identifier) @call (arguments)? @arguments)
  (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defmodule" "defstruct" "defexception" "defprotocol" "defimpl"
    "defdelegate" "defguard" "defguardp" "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "quote"
    "unquote" "unquote_splicing" "try" "receive" "raise" "super" "test" "describe"))
(call target: (dot left: [(alias) (atom) (identifier)] @receiver right: (identifier) @call.path) (arguments)? @arguments)
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @call.bare operator: "/"))
(unary_operator operator: "&"
  operand: (binary_operator left: (call target: (dot left: (alias) @receiver right: (identifier) @call.path)) operator: "/"))

(call target: (identifier) @_t (arguments . (alias) @import.path .) (#eq? @_t "alias")) @import.module
(call
  target: (identifier) @_t
  (arguments . (alias) @import.path (keywords (pair value: (alias) @import.alias)))
  (#eq? @_t "alias")) @import.module
(call
  target: (identifier) @_t
  (arguments . (dot left: (alias) @import.path right: (tuple (alias) @import.name)))
  (#eq? @_t "alias")) @import.module
(call target: (identifier) @_t (arguments . (alias) @import.path) (#eq? @_t "import")) @import.all

(call target: (identifier) @_d (#any-of? @_d "def" "defp" "defmacro" "defmacrop")) @scope
[(anonymous_function) (stab_clause)] @scope
(stab_clause left: (arguments (identifier) @binding))
(call
  target: (identifier) @_d
  (arguments (call (arguments (identifier) @binding)))
  (#any-of? @_d "def" "defp" "defmacro" "defmacrop"))

; references
[(identifier) (alias)] @reference
(dot left: (_) @receiver right: (identifier) @reference.path)
