package bad

allow if {
	unknown(input.y)
}
