; JavaScript, in addition to script.scm.

(class_heritage [(identifier) (member_expression)] @base)
(formal_parameters (identifier) @binding)

; references
