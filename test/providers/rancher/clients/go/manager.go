package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	rancher "github.com/rancher/go-rancher/v2"
)

// The Go manager's requests, one after the other: rancher-cloud-controller-manager 0.1.4.
type manager struct {
	api *rancher.RancherClient
	// Passes the time between two requests.
	pause func(time.Duration)
}

type port struct{ port, nodePort int64 }

type balancer struct {
	name  string
	ports []port
	nodes []string
}

const (
	stackName = "kubernetes-loadbalancers"
	pollEvery = 2 * time.Second
	polls     = 30
)

func filters(pairs ...string) *rancher.ListOpts {
	opts := rancher.NewListOpts()
	for index := 0; index < len(pairs); index += 2 {
		opts.Filters[pairs[index]] = pairs[index+1]
	}
	return opts
}

// Reads an object until it satisfies the condition, like each wait of the Go manager.
func poll[T any](m *manager, what string, read func() (T, error), done func(T) bool) (T, error) {
	for range polls {
		value, err := read()
		if err != nil || done(value) {
			return value, err
		}
		m.pause(pollEvery)
	}
	var none T
	return none, fmt.Errorf("timed out waiting for %s", what)
}

func isActive(state string) bool {
	return slices.Contains([]string{"active", "activating", "updating-active"}, strings.ToLower(state))
}

func (m *manager) find(name string) (*rancher.LoadBalancerService, error) {
	list, err := m.api.LoadBalancerService.List(filters("name", name, "removed_null", "1"))
	if err != nil || len(list.Data) == 0 {
		return nil, err
	}
	if len(list.Data) > 1 {
		return nil, fmt.Errorf("%d load balancers have the name %s", len(list.Data), name)
	}
	return &list.Data[0], nil
}

func addressesOf(lb *rancher.LoadBalancerService) []string {
	ips := []string{}
	for _, endpoint := range lb.PublicEndpoints {
		ips = append(ips, endpoint.IpAddress)
	}
	return ips
}

// GetLoadBalancer: the addresses, and whether it exists.
func (m *manager) get(name string) ([]string, bool, error) {
	lb, err := m.find(name)
	if err != nil || lb == nil {
		return nil, false, err
	}
	return addressesOf(lb), true, nil
}

// EnsureLoadBalancer
func (m *manager) ensure(want balancer) ([]string, error) {
	lb, err := m.find(want.name)
	if err != nil {
		return nil, err
	}
	published := []string{}
	for _, each := range want.ports {
		published = append(published, fmt.Sprintf("%d:%d/tcp", each.port, each.port))
	}
	slices.Sort(published)
	if lb != nil && !slices.Equal(slices.Sorted(slices.Values(lb.LaunchConfig.Ports)), published) {
		if err := m.removeFound(lb); err != nil {
			return nil, err
		}
		lb = nil
	}
	image, err := m.image()
	if err != nil {
		return nil, err
	}
	if lb == nil {
		if lb, err = m.create(want.name, published, image); err != nil {
			return nil, err
		}
	}
	if err := m.setTargets(lb, want); err != nil {
		return nil, err
	}
	return m.activate(lb)
}

func (m *manager) image() (string, error) {
	const name = "lb.instance.image"
	settings, err := m.api.Setting.List(filters("name", name))
	if err != nil {
		return "", err
	}
	for _, setting := range settings.Data {
		if strings.EqualFold(setting.Name, name) && setting.Value != "" {
			return "docker:" + setting.Value, nil
		}
	}
	return "", errors.New("the setting lb.instance.image is empty")
}

func (m *manager) create(name string, ports []string, image string) (*rancher.LoadBalancerService, error) {
	// external_id is not the name of a field, so it filters nothing.
	stacks, err := m.api.Stack.List(filters("name", stackName, "removed_null", "1", "external_id", stackName+"://"))
	if err != nil {
		return nil, err
	}
	var stack *rancher.Stack
	if len(stacks.Data) > 0 {
		stack = &stacks.Data[0]
	} else if stack, err = m.api.Stack.Create(&rancher.Stack{Name: stackName, ExternalId: stackName + "://"}); err != nil {
		return nil, err
	}
	return m.api.LoadBalancerService.Create(&rancher.LoadBalancerService{
		Name:         name,
		StackId:      stack.Id,
		LaunchConfig: &rancher.LaunchConfig{Ports: ports, ImageUuid: image},
		LbConfig:     &rancher.LbConfig{},
	})
}

func (m *manager) activate(lb *rancher.LoadBalancerService) ([]string, error) {
	read := func() (*rancher.LoadBalancerService, error) { return m.api.LoadBalancerService.ById(lb.Id) }
	offers := func(action string) func(*rancher.LoadBalancerService) bool {
		return func(one *rancher.LoadBalancerService) bool { return one.Actions[action] != "" }
	}
	// The state at its creation decides.
	if !isActive(lb.State) {
		ready, err := poll(m, "activate", read, offers("activate"))
		if err != nil {
			return nil, err
		}
		if _, err := m.api.LoadBalancerService.ActionActivate(ready); err != nil {
			return nil, err
		}
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	if _, err := poll(m, "deactivate", read, offers("deactivate")); err != nil {
		return nil, err
	}
	hasEndpoints := func(one *rancher.LoadBalancerService) bool { return len(one.PublicEndpoints) > 0 }
	if _, err := poll(m, "public endpoints", read, hasEndpoints); err != nil {
		return nil, err
	}
	final, err := read()
	if err != nil {
		return nil, err
	}
	return addressesOf(final), nil
}

// UpdateLoadBalancer
func (m *manager) update(want balancer) error {
	lb, err := m.find(want.name)
	if err != nil {
		return err
	}
	if lb == nil {
		return fmt.Errorf("no load balancer has the name %s", want.name)
	}
	if err := m.removeTargets(lb); err != nil {
		return err
	}
	return m.setTargets(lb, want)
}

// EnsureLoadBalancerDeleted
func (m *manager) remove(name string) error {
	lb, err := m.find(name)
	if err != nil || lb == nil {
		return err
	}
	return m.removeFound(lb)
}

func (m *manager) removeFound(lb *rancher.LoadBalancerService) error {
	if err := m.removeTargets(lb); err != nil {
		return err
	}
	return m.api.LoadBalancerService.Delete(lb)
}
