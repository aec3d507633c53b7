// A Go manager for rehearsals: the controllers and defaults of k8s.io/cloud-provider, with as much of Hetzner Cloud as the Services of a
// rehearsal use. It talks to the API server as every Go manager does, in protobuf.
package main

import (
	"io"
	"os"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

const providerName = "hcloud"

func connect(io.Reader) (cloudprovider.Interface, error) {
	client := hcloud.NewClient(hcloud.WithToken(os.Getenv("HCLOUD_TOKEN")), hcloud.WithEndpoint(os.Getenv("HCLOUD_ENDPOINT")))
	return &cloud{client: client, network: os.Getenv("HCLOUD_NETWORK"), location: os.Getenv("HCLOUD_LOAD_BALANCERS_LOCATION")}, nil
}

func initialize(complete *config.CompletedConfig) cloudprovider.Interface {
	found, err := cloudprovider.InitCloudProvider(complete.ComponentConfig.KubeCloudShared.CloudProvider.Name, "")
	if err != nil {
		klog.Fatal(err)
	}
	return found
}

func main() {
	cloudprovider.RegisterCloudProvider(providerName, connect)
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatal(err)
	}
	command := app.NewCloudControllerManagerCommand(defaults, initialize, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), flag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}
