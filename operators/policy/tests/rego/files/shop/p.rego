package shop.p

import rego.v1

allow if {
	input.action == "read"
	not blocked
}

allow if {
	count([x | some x in input.roles; x == "admin"]) > 0
}

blocked if lower(input.user.name) in data.b.list

violation contains {"msg": msg} if {
	some r in input.roles
	r == "bad"
	msg := sprintf("bad %v", [r])
}

foo := 1
f(x) := y if y := x + 1
obj[k] := v if some k, v in {"a": 1}
default zz := 3
