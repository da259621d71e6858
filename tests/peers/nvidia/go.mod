module mete.dev/peers

go 1.26.0

require (
	github.com/NVIDIA/go-nvml v0.13.4-0
	google.golang.org/grpc v1.69.0
	k8s.io/kubelet v0.32.3
)

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	golang.org/x/net v0.30.0 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/text v0.19.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20241015192408-796eee8c2d53 // indirect
	google.golang.org/protobuf v1.35.1 // indirect
)
