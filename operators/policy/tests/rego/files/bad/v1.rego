package bad

p { input.x }

q[1]

r if { true } else { false }
