module example.org/cache

go 1.25
