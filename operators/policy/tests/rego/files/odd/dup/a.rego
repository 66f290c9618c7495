package dup
x := 1
