module example.com/cheapest

go 1.24
