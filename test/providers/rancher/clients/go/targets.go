package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rancher "github.com/rancher/go-rancher/v2"
)

var errNoHost = errors.New("no host with this name and an address")

// The external services of the Nodes, then the links and the rules of the load balancer.
func (m *manager) setTargets(lb *rancher.LoadBalancerService, want balancer) error {
	links := []rancher.ServiceLink{}
	rules := []rancher.PortRule{}
	for _, node := range want.nodes {
		id, err := m.target(lb.StackId, node)
		if err != nil {
			return err
		}
		links = append(links, rancher.ServiceLink{ServiceId: id})
		for _, each := range want.ports {
			rule := rancher.PortRule{SourcePort: each.port, TargetPort: each.nodePort, ServiceId: id, Protocol: "tcp"}
			rules = append(rules, rule)
		}
	}
	read := func() (*rancher.LoadBalancerService, error) { return m.api.LoadBalancerService.ById(lb.Id) }
	ready, err := poll(m, "setservicelinks", read, func(one *rancher.LoadBalancerService) bool {
		return one.Actions["setservicelinks"] != ""
	})
	if err != nil {
		return err
	}
	if _, err := m.api.LoadBalancerService.ActionSetservicelinks(ready, &rancher.SetServiceLinksInput{ServiceLinks: links}); err != nil {
		return err
	}
	change := map[string]any{"lbConfig": rancher.LbConfig{PortRules: rules}}
	_, err = m.api.LoadBalancerService.Update(ready, change)
	return err
}

func (m *manager) target(stackID, node string) (string, error) {
	list, err := m.api.ExternalService.List(filters("name", node, "stackId", stackID, "removed_null", "1"))
	if err != nil {
		return "", err
	}
	var service *rancher.ExternalService
	if len(list.Data) > 0 {
		service = &list.Data[0]
	} else {
		_, ips, err := m.host(node)
		if err != nil {
			return "", err
		}
		create := &rancher.ExternalService{Name: node, ExternalIpAddresses: ips[:1], StackId: stackID}
		if service, err = m.api.ExternalService.Create(create); err != nil {
			return "", err
		}
	}
	if isActive(service.State) {
		return service.Id, nil
	}
	read := func() (*rancher.ExternalService, error) { return m.api.ExternalService.ById(service.Id) }
	ready, err := poll(m, "activate", read, func(one *rancher.ExternalService) bool { return one.Actions["activate"] != "" })
	if err != nil {
		return "", err
	}
	_, err = m.api.ExternalService.ActionActivate(ready)
	return service.Id, err
}

// Those that no other load balancer uses.
func (m *manager) removeTargets(lb *rancher.LoadBalancerService) error {
	var consumed rancher.ServiceCollection
	if err := m.api.GetLink(lb.Resource, "consumedservices", &consumed); err != nil {
		return err
	}
	for _, service := range consumed.Data {
		var users rancher.ServiceCollection
		if err := m.api.GetLink(service.Resource, "consumedbyservices", &users); err != nil || len(users.Data) > 1 {
			continue
		}
		// An error is only logged.
		_ = m.api.Service.Delete(&service)
	}
	return nil
}

// The host with this name and its addresses, as each method of Instances reads them.
func (m *manager) host(node string) (*rancher.Host, []string, error) {
	hosts, err := m.api.Host.List(filters("removed_null", "1"))
	if err != nil {
		return nil, nil, err
	}
	found := slices.DeleteFunc(hosts.Data, func(one rancher.Host) bool { return !strings.EqualFold(one.Hostname, node) })
	if len(found) == 0 {
		return nil, nil, errNoHost
	}
	if len(found) > 1 {
		return nil, nil, fmt.Errorf("%d hosts have the name %s", len(found), node)
	}
	var list rancher.IpAddressCollection
	if err := m.api.GetLink(found[0].Resource, "ipAddresses", &list); err != nil {
		return nil, nil, err
	}
	if len(list.Data) == 0 {
		return nil, nil, errNoHost
	}
	ips := []string{}
	for _, each := range list.Data {
		ips = append(ips, each.Address)
	}
	return &found[0], ips, nil
}
