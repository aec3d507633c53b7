package main

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"fairlead/manager"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// The zones that the Go manager of Hetzner Cloud knows for the locations of the rehearsal.
var zones = map[string]string{"fsn1": "fsn1-dc14", "nbg1": "nbg1-dc3"}

type cloud struct {
	manager.Base
	client   *hcloud.Client
	servers  servers
	network  *hcloud.Network
	location string
	// A network takes one change at a time.
	changing sync.Mutex
}

func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c, true }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return c, true }
func (c *cloud) Routes() (cloudprovider.Routes, bool)             { return c, true }
func (c *cloud) ProviderName() string                             { return providerName }

// apply waits until an action ends. Actions take a fraction of a second in the simulated cloud.
func (c *cloud) apply(ctx context.Context, action *hcloud.Action, _ *hcloud.Response, err error) error {
	for err == nil && action.Status == hcloud.ActionStatusRunning {
		time.Sleep(100 * time.Millisecond)
		action, _, err = c.client.Action.GetByID(ctx, action.ID)
	}
	return err
}

func (c *cloud) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.servers.find(ctx, node)
	return found != nil, err
}

func (c *cloud) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.servers.find(ctx, node)
	return found != nil && found.Status == hcloud.ServerStatusOff, err
}

func (c *cloud) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := c.servers.find(ctx, node)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, cloudprovider.InstanceNotFound
	}
	addresses := []v1.NodeAddress{
		{Type: v1.NodeHostName, Address: found.Name},
		{Type: v1.NodeExternalIP, Address: found.PublicNet.IPv4.IP.String()},
	}
	for _, private := range found.PrivateNet {
		addresses = append(addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: private.IP.String()})
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       providerName + "://" + strconv.FormatInt(found.ID, 10),
		InstanceType:     found.ServerType.Name,
		NodeAddresses:    addresses,
		Zone:             zones[found.Location.Name],
		Region:           found.Location.Name,
		AdditionalLabels: map[string]string{"instance.hetzner.cloud/provided-by": "cloud"},
	}, nil
}

func (c *cloud) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	network, _, err := c.client.Network.GetByID(ctx, c.network.ID)
	if err != nil {
		return nil, err
	}
	servers, err := c.client.Server.All(ctx)
	names := map[string]types.NodeName{}
	for _, server := range servers {
		for _, private := range server.PrivateNet {
			names[private.IP.String()] = types.NodeName(server.Name)
		}
	}
	found := []*cloudprovider.Route{}
	for _, route := range network.Routes {
		destination := route.Destination.String()
		node := names[route.Gateway.String()]
		found = append(found, &cloudprovider.Route{Name: destination, TargetNode: node, DestinationCIDR: destination})
	}
	return found, err
}

func (c *cloud) CreateRoute(ctx context.Context, _ string, _ string, route *cloudprovider.Route) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	server, _, err := c.client.Server.GetByName(ctx, string(route.TargetNode))
	if err != nil {
		return err
	}
	_, destination, err := net.ParseCIDR(route.DestinationCIDR)
	if err != nil {
		return err
	}
	added := hcloud.NetworkRoute{Destination: destination, Gateway: server.PrivateNet[0].IP}
	action, response, err := c.client.Network.AddRoute(ctx, c.network, hcloud.NetworkAddRouteOpts{Route: added})
	return c.apply(ctx, action, response, err)
}

// DeleteRoute is not needed: a rehearsal removes no Node.
func (c *cloud) DeleteRoute(context.Context, string, *cloudprovider.Route) error {
	return cloudprovider.NotImplemented
}
