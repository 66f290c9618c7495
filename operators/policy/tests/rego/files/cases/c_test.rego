package cases_test

test_add[tc.note] if {
	some tc in [
		{"note": "one and one", "a": 1, "b": 1, "sum": 2},
		{"note": "one and two", "a": 1, "b": 2, "sum": 4},
	]
	tc.a + tc.b == tc.sum
}
