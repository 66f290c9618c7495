package validator.gcp.lib

# The parameters of a constraint, an empty object where it has none.
parameters(constraint) = found {
	found := object.get(constraint.spec, "parameters", {})
}
