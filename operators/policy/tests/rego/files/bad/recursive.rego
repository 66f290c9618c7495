package bad

p if q

q if not p
