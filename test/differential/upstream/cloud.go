package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"fairlead/manager"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

const scheme = "fake://"

// cloud speaks the API of the fake cloud. It follows providers/fake, so that what differs comes from the controllers.
type cloud struct {
	manager.Base
	endpoint, token string
}

func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c, true }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return c, true }
func (c *cloud) Routes() (cloudprovider.Routes, bool)             { return c, true }
func (c *cloud) ProviderName() string                             { return "fake" }

// call sends a request, and reads its answer into `into` unless that is nil.
func (c *cloud) call(ctx context.Context, method, path string, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.endpoint+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 {
		err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

type machine struct {
	ID, Name, Status, Type, Zone string
	PrivateIP                    string `json:"private_ip"`
	PublicIP                     string `json:"public_ip"`
}

func (c *cloud) machines(ctx context.Context, query string) ([]machine, error) {
	var answer struct{ Machines []machine }
	err := c.call(ctx, "GET", "/machines?per_page=500"+query, nil, &answer)
	return answer.Machines, err
}

// machineOf returns nil when there is none.
func (c *cloud) machineOf(ctx context.Context, node *v1.Node) (*machine, error) {
	query := "&names=" + node.Name
	if id := node.Spec.ProviderID; id != "" {
		if !strings.HasPrefix(id, scheme) {
			return nil, fmt.Errorf("%s is not a machine of the fake cloud", id)
		}
		query = "&ids=" + strings.TrimPrefix(id, scheme)
	}
	found, err := c.machines(ctx, query)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%d machines are named %s", len(found), node.Name)
	}
	return &found[0], nil
}

func (c *cloud) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.machineOf(ctx, node)
	return found != nil, err
}

func (c *cloud) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.machineOf(ctx, node)
	return found != nil && found.Status == "stopped", err
}

func (c *cloud) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := c.machineOf(ctx, node)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, cloudprovider.InstanceNotFound
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:   scheme + found.ID,
		InstanceType: found.Type,
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: found.Name},
			{Type: v1.NodeInternalIP, Address: found.PrivateIP},
			{Type: v1.NodeExternalIP, Address: found.PublicIP},
		},
		Zone:             found.Zone,
		Region:           "nowhere",
		AdditionalLabels: map[string]string{"fake.example/type": found.Type},
	}, nil
}

type route struct {
	ID          string            `json:"id,omitempty"`
	Destination string            `json:"destination"`
	Machine     string            `json:"machine"`
	Labels      map[string]string `json:"labels"`
}

func (c *cloud) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	machines, err := c.machines(ctx, "")
	if err != nil {
		return nil, err
	}
	names := map[string]types.NodeName{}
	for _, each := range machines {
		names[each.ID] = types.NodeName(each.Name)
	}
	var answer struct{ Routes []route }
	err = c.call(ctx, "GET", "/routes?per_page=500", nil, &answer)
	found := []*cloudprovider.Route{}
	for _, each := range answer.Routes {
		if each.Labels["cluster"] == cluster {
			found = append(found, &cloudprovider.Route{Name: each.ID, TargetNode: names[each.Machine], DestinationCIDR: each.Destination})
		}
	}
	return found, err
}

func (c *cloud) CreateRoute(ctx context.Context, cluster, _ string, wanted *cloudprovider.Route) error {
	found, err := c.machines(ctx, "&names="+string(wanted.TargetNode))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%d machines are named %s", len(found), wanted.TargetNode)
	}
	labels := map[string]string{"cluster": cluster}
	return c.call(ctx, "POST", "/routes", route{Destination: wanted.DestinationCIDR, Machine: found[0].ID, Labels: labels}, nil)
}

func (c *cloud) DeleteRoute(ctx context.Context, _ string, listed *cloudprovider.Route) error {
	return c.call(ctx, "DELETE", "/routes/"+listed.Name, nil, nil)
}
