module github.com/signalbox-dev/signalbox/bt/benchmark

go 1.26.0

require (
	github.com/joeycumines/go-behaviortree v1.8.0
	github.com/signalbox-dev/signalbox v0.0.0
)

require (
	github.com/joeycumines/go-bigbuff v1.14.0 // indirect
	github.com/xlab/treeprint v1.1.0 // indirect
)

replace github.com/signalbox-dev/signalbox => ../..
