package cov0
p { input.x }
test_p { p with input as {"x": 1} }
