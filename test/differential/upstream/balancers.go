package main

import (
	"context"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/service/helpers"
)

const ownerLabel = "owner-uid"

type listener struct {
	Protocol   string `json:"protocol"`
	Port       int32  `json:"port"`
	TargetPort int32  `json:"target_port"`
}

// settings is what a Service and its Nodes decide. All lists but `families` are sorted.
type settings struct {
	Families  []string   `json:"families"`
	Sources   []string   `json:"sources"`
	Algorithm string     `json:"algorithm"`
	Listeners []listener `json:"listeners"`
	Targets   []string   `json:"targets"`
}

type balancer struct {
	ID     string            `json:"id,omitempty"`
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	IP     string            `json:"ip,omitempty"`
	IPv6   string            `json:"ipv6,omitempty"`
	settings
}

func (c *cloud) find(ctx context.Context, service *v1.Service) (*balancer, error) {
	var answer struct{ Balancers []balancer }
	err := c.call(ctx, "GET", "/balancers?per_page=500", nil, &answer)
	for _, each := range answer.Balancers {
		if each.Labels[ownerLabel] == string(service.UID) {
			return &each, err
		}
	}
	return nil, err
}

func (c *cloud) targetsOf(ctx context.Context, nodes []*v1.Node) ([]string, error) {
	targets := []string{}
	for _, node := range nodes {
		found, err := c.machineOf(ctx, node)
		if err != nil {
			return nil, err
		}
		if found != nil {
			targets = append(targets, found.ID)
		}
	}
	slices.Sort(targets)
	return targets, nil
}

func sourcesOf(service *v1.Service, families []string) ([]string, error) {
	ranges, err := helpers.GetLoadBalancerSourceRanges(service)
	if err != nil {
		return nil, err
	}
	sources := ranges.StringSlice()
	if helpers.IsAllowAll(ranges) {
		sources = []string{}
		for _, family := range families {
			sources = append(sources, map[string]string{"IPv4": "0.0.0.0/0", "IPv6": "::/0"}[family])
		}
	}
	slices.Sort(sources)
	return sources, nil
}

func (c *cloud) settingsOf(ctx context.Context, service *v1.Service, nodes []*v1.Node) (*settings, error) {
	wanted := settings{Families: []string{}, Algorithm: "round-robin", Listeners: []listener{}}
	if chosen := service.Annotations["balancer.fake.example/algorithm"]; chosen != "" {
		wanted.Algorithm = chosen
	}
	for _, family := range service.Spec.IPFamilies {
		wanted.Families = append(wanted.Families, string(family))
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			wanted.Listeners = append(wanted.Listeners, listener{string(port.Protocol), port.Port, port.NodePort})
		}
	}
	var err error
	if wanted.Sources, err = sourcesOf(service, wanted.Families); err == nil {
		wanted.Targets, err = c.targetsOf(ctx, nodes)
	}
	return &wanted, err
}

// changes returns the members of the request that makes the load balancer as wanted.
func changes(wanted *settings, observed settings) map[string]any {
	found := map[string]any{}
	slices.Sort(observed.Sources)
	slices.Sort(observed.Targets)
	want, have := reflect.ValueOf(*wanted), reflect.ValueOf(observed)
	for index := range want.NumField() {
		if !reflect.DeepEqual(want.Field(index).Interface(), have.Field(index).Interface()) {
			found[want.Type().Field(index).Tag.Get("json")] = want.Field(index).Interface()
		}
	}
	return found
}

func statusOf(found *balancer, service *v1.Service) *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	// Without a mode, which the API server adds, upstream would write each status again at every start.
	mode := v1.LoadBalancerIPModeVIP
	for _, family := range service.Spec.IPFamilies {
		address := map[v1.IPFamily]string{v1.IPv4Protocol: found.IP, v1.IPv6Protocol: found.IPv6}[family]
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: address, IPMode: &mode})
	}
	return status
}

func (c *cloud) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (c *cloud) GetLoadBalancer(ctx context.Context, _ string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	found, err := c.find(ctx, service)
	if err != nil || found == nil {
		return nil, false, err
	}
	return statusOf(found, service), true, nil
}

func (c *cloud) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	wanted, err := c.settingsOf(ctx, service, nodes)
	if err != nil {
		return nil, err
	}
	found, err := c.find(ctx, service)
	if err != nil {
		return nil, err
	}
	var answer struct{ Balancer *balancer }
	if found == nil {
		labels := map[string]string{"cluster": cluster, "managed-by": "fairlead", ownerLabel: string(service.UID)}
		body := balancer{Name: cloudprovider.DefaultLoadBalancerName(service), Labels: labels, settings: *wanted}
		err = c.call(ctx, "POST", "/balancers", body, &answer)
	} else if body := changes(wanted, found.settings); len(body) > 0 {
		err = c.call(ctx, "PATCH", "/balancers/"+found.ID, body, &answer)
	} else {
		answer.Balancer = found
	}
	if err != nil {
		return nil, err
	}
	return statusOf(answer.Balancer, service), nil
}

func (c *cloud) UpdateLoadBalancer(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) error {
	found, err := c.find(ctx, service)
	if err != nil || found == nil {
		return err
	}
	targets, err := c.targetsOf(ctx, nodes)
	slices.Sort(found.Targets)
	if err != nil || slices.Equal(targets, found.Targets) {
		return err
	}
	return c.call(ctx, "PATCH", "/balancers/"+found.ID, map[string]any{"targets": targets}, nil)
}

func (c *cloud) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *v1.Service) error {
	found, err := c.find(ctx, service)
	if err != nil || found == nil {
		return err
	}
	err = c.call(ctx, "DELETE", "/balancers/"+found.ID, nil, nil)
	if err != nil && strings.Contains(err.Error(), ": 404 ") {
		return nil
	}
	return err
}
