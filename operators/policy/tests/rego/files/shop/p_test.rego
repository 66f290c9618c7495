package shop.p_test
import data.shop.p
test_allow if { p.allow with input as {"action": "read", "user": {"name": "x"}, "roles": []} }
test_no if { p.allow with input as {"action": "write", "roles": []} }
test_v if { count(p.violation) == 1 with input as {"roles": ["bad", "good"]} }
todo_test_x if false
test_err if { x := 1; to_number("q") == x }
test_conflict if { x := {"a": y | some y in [1,2]}; x.a }
test_print if { print("hello", input.nope, [1,"x"]); false }
test_sub[name] if { some name, v in {"one": 1, "two": 2}; v == 1 }
