package labels

# What is wrong with the labels of an object.
deny contains sprintf("%s: label %s is missing", [input.metadata.name, label]) if {
	some label in data.required
	not input.metadata.labels[label]
}

deny contains sprintf("%s: %s is no team", [input.metadata.name, team]) if {
	team := input.metadata.labels.team
	not team in data.teams
}
