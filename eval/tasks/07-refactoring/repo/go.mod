module example.org/money

go 1.25
