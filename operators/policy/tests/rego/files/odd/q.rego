package q
import rego.v1
dup := 1