; Shell. The captures are documented in ../queries.rs.
;
; Any command may be a function, so one that no file defines is not a call.

(command name: (command_name (word) @call.bare))
(command
  name: (command_name (word) @_c) . argument: [(word) (string) (raw_string) (concatenation)] @import.path
  (#any-of? @_c "." "source")) @import.all
; A function that is run by name: `trap cleanup EXIT`.
(command
  name: (command_name (word) @_c) argument: (word) @call.bare
  (#any-of? @_c "trap" "command" "builtin" "eval" "exec" "time" "sudo" "export" "complete"))

; references
(word) @reference
