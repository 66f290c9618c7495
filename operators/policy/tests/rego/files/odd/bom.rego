package bom
x := 1
