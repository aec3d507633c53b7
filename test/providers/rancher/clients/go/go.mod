module fairlead/rancher-client

go 1.25.0

require (
	fairlead/steps v0.0.0
	github.com/rancher/go-rancher v0.1.1-0.20190307222549-9756097e5e4c
)

require (
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
)

replace fairlead/steps => ../../../../clients/go
