// A Go manager for rehearsals, with as much of Hetzner Cloud as the Services of a rehearsal use. It talks to the API server as every Go
// manager does, in protobuf.
package main

import (
	"os"

	"fairlead/manager"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

const providerName = "hcloud"

func main() {
	client := hcloud.NewClient(hcloud.WithToken(os.Getenv("HCLOUD_TOKEN")), hcloud.WithEndpoint(os.Getenv("HCLOUD_ENDPOINT")))
	manager.Run(&cloud{client: client, network: os.Getenv("HCLOUD_NETWORK"), location: os.Getenv("HCLOUD_LOAD_BALANCERS_LOCATION")})
}
