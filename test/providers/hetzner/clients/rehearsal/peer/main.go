// A Go manager for rehearsals and benchmarks, with as much of Hetzner Cloud as their Services use. It talks to the API server as every
// Go manager does, in protobuf, and sends the requests that the Go manager of Hetzner Cloud sends.
package main

import (
	"context"
	"os"

	"fairlead/manager"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"k8s.io/klog/v2"
)

const providerName = "hcloud"

func main() {
	client := hcloud.NewClient(hcloud.WithToken(os.Getenv("HCLOUD_TOKEN")), hcloud.WithEndpoint(os.Getenv("HCLOUD_ENDPOINT")))
	network, _, err := client.Network.Get(context.Background(), os.Getenv("HCLOUD_NETWORK"))
	if err != nil || network == nil {
		klog.Fatalf("no network %q: %v", os.Getenv("HCLOUD_NETWORK"), err)
	}
	location := os.Getenv("HCLOUD_LOAD_BALANCERS_LOCATION")
	manager.Run(&cloud{client: client, servers: servers{client: client}, network: network, location: location})
}
