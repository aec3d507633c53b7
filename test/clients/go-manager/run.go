// Package manager makes a Go manager from a cloud: the controllers and the defaults of k8s.io/cloud-provider.
package manager

import (
	"io"
	"os"

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

// Base has what no cloud of the tests implements.
type Base struct{}

func (Base) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (Base) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (Base) Zones() (cloudprovider.Zones, bool)                                { return nil, false }
func (Base) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
func (Base) HasClusterID() bool                                                { return false }

func initialize(complete *config.CompletedConfig) cloudprovider.Interface {
	found, err := cloudprovider.InitCloudProvider(complete.ComponentConfig.KubeCloudShared.CloudProvider.Name, "")
	if err != nil {
		klog.Fatal(err)
	}
	return found
}

// Run runs the manager with the flags of the command line, and ends the process.
func Run(cloud cloudprovider.Interface) {
	connect := func(io.Reader) (cloudprovider.Interface, error) { return cloud, nil }
	cloudprovider.RegisterCloudProvider(cloud.ProviderName(), connect)
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatal(err)
	}
	command := app.NewCloudControllerManagerCommand(defaults, initialize, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), flag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}
