package labels_test

import data.labels

pod(found) := {"metadata": {"name": "web", "labels": found}}

test_all_there if {
	count(labels.deny) == 0 with input as pod({"team": "blue", "stage": "test"})
}

test_missing if {
	labels.deny == {"web: label stage is missing"} with input as pod({"team": "red"})
}

test_teams[name] if {
	some name, passes in {"blue": true, "green": false}
	found := labels.deny with input as pod({"team": name, "stage": "test"})
	(count(found) == 0) == passes
}
