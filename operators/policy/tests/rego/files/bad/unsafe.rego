package bad

allow if {
	x > 1
}
