module example.org/steered-loop

go 1.26.0

require github.com/signalbox-dev/signalbox v0.0.0

replace github.com/signalbox-dev/signalbox => ../..
