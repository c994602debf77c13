module example.org/truncate

go 1.25
