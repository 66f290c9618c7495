package dup
x := 2
