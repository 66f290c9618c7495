package cov

import rego.v1

default allow := false

default f(_) := 7

allow if input.x == 1

allow if {
	some i in input.list
	i > 3
}

f(x) := 1 if x == "one"

f(x) := 2 if {
	x == 2
} else := 3 if {
	x == 3
} else := 4 if x == 9

g(x) := y if {
	y := [z |
		some z in x
		z > 1
	]
	count(y) > 0
}

p contains x if {
	x := input.list[_]
	not x == 2
}

q[k] := v if {
	some k, v in input.obj
}

const := {"a": 1,
  "b": [2, 3]}

gt1 contains 1

every_ok if {
	every z in input.list {
		z > 0
		z < 10
	}
}

unused if {
	input.never
	1 == 2
}

h(x) if x > 1

paren if (1 + 2) == (input.x + 2)
