package cov_test

import data.cov

test_allow if {
	not cov.allow with input as {"x": 2, "list": [1, 2]}
}

test_f if {
	cov.f("one") == 1
	cov.f(3) == 3
	cov.f(9) == 4
	cov.g([1, 2]) == [2]
}

test_docs if {
	cov.p == {1, 3} with input as {"list": [1, 2, 3]}
	cov.q == {"a": 1} with input.obj as {"a": 1}
	cov.const.a == 1
	cov.every_ok with input.list as [1, 2]
	cov.gt1
	cov.h(2)
	cov.paren with input.x as 1
}
