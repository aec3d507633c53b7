package main

import (
	"context"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

const ownerLabel = "hcloud-ccm/service-uid"

// settingsOf returns the annotations of a Service by their names without the prefix.
func settingsOf(service *v1.Service) func(string) string {
	return func(name string) string { return service.Annotations["load-balancer.hetzner.cloud/"+name] }
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

func (c *cloud) find(ctx context.Context, service *v1.Service) (*hcloud.LoadBalancer, error) {
	opts := hcloud.LoadBalancerListOpts{ListOpts: hcloud.ListOpts{LabelSelector: ownerLabel + "=" + string(service.UID)}}
	found, err := c.client.LoadBalancer.AllWithOpts(ctx, opts)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func (c *cloud) create(ctx context.Context, service *v1.Service) (*hcloud.LoadBalancer, error) {
	own := settingsOf(service)
	name := orElse(own("name"), c.GetLoadBalancerName(ctx, "", service))
	if found, _, err := c.client.LoadBalancer.GetByName(ctx, name); err != nil || found != nil {
		return found, err
	}
	opts := hcloud.LoadBalancerCreateOpts{
		Name:             name,
		LoadBalancerType: &hcloud.LoadBalancerType{Name: orElse(own("type"), "lb11")},
		Location:         &hcloud.Location{Name: orElse(own("location"), c.location)},
		Labels:           map[string]string{ownerLabel: string(service.UID)},
		PublicInterface:  hcloud.Ptr(own("disable-public-network") != "true"),
		Network:          c.network,
	}
	if algorithm := own("algorithm-type"); algorithm != "" {
		opts.Algorithm = &hcloud.LoadBalancerAlgorithm{Type: hcloud.LoadBalancerAlgorithmType(algorithm)}
	}
	created, _, err := c.client.LoadBalancer.Create(ctx, opts)
	if err := c.apply(ctx, created.Action, nil, err); err != nil {
		return nil, err
	}
	return c.load(ctx, created.LoadBalancer)
}

// load returns the load balancer as it is now.
func (c *cloud) load(ctx context.Context, balancer *hcloud.LoadBalancer) (*hcloud.LoadBalancer, error) {
	found, _, err := c.client.LoadBalancer.GetByID(ctx, balancer.ID)
	return found, err
}

// healthCheckOf returns the health check of a port, as annotations and the cloud's defaults say.
func healthCheckOf(own func(string) string, port v1.ServicePort) (*hcloud.LoadBalancerUpdateServiceOptsHealthCheck, error) {
	interval, err := time.ParseDuration(orElse(own("health-check-interval"), "15s"))
	if err != nil {
		return nil, err
	}
	retries, err := strconv.Atoi(orElse(own("health-check-retries"), "3"))
	if err != nil {
		return nil, err
	}
	check := &hcloud.LoadBalancerUpdateServiceOptsHealthCheck{
		Protocol: hcloud.LoadBalancerServiceProtocol(orElse(own("health-check-protocol"), "tcp")),
		Port:     hcloud.Ptr(int(port.NodePort)),
		Interval: &interval,
		Timeout:  hcloud.Ptr(10 * time.Second),
		Retries:  &retries,
	}
	if path := own("health-check-http-path"); path != "" {
		check.HTTP = &hcloud.LoadBalancerUpdateServiceOptsHealthCheckHTTP{Path: &path}
	}
	return check, nil
}

// applyPort adds the port, or sets everything of it again: the Go manager updates each port when it starts.
func (c *cloud) applyPort(ctx context.Context, balancer *hcloud.LoadBalancer, service *v1.Service, port v1.ServicePort) error {
	own := settingsOf(service)
	check, err := healthCheckOf(own, port)
	if err != nil {
		return err
	}
	opts := hcloud.LoadBalancerUpdateServiceOpts{
		Protocol:        hcloud.LoadBalancerServiceProtocol(orElse(own("protocol"), "tcp")),
		DestinationPort: hcloud.Ptr(int(port.NodePort)),
		Proxyprotocol:   hcloud.Ptr(own("uses-proxyprotocol") == "true"),
		HealthCheck:     check,
	}
	if opts.Protocol == hcloud.LoadBalancerServiceProtocolHTTP {
		opts.HTTP = &hcloud.LoadBalancerUpdateServiceOptsHTTP{
			CookieName:     hcloud.Ptr(own("http-cookie-name")),
			StickySessions: hcloud.Ptr(own("http-sticky-sessions") == "true"),
		}
	}
	isPort := func(each hcloud.LoadBalancerService) bool { return each.ListenPort == int(port.Port) }
	if slices.ContainsFunc(balancer.Services, isPort) {
		action, response, err := c.client.LoadBalancer.UpdateService(ctx, balancer, int(port.Port), opts)
		return c.apply(ctx, action, response, err)
	}
	action, response, err := c.client.LoadBalancer.AddService(ctx, balancer, hcloud.LoadBalancerAddServiceOpts{
		Protocol:        opts.Protocol,
		ListenPort:      hcloud.Ptr(int(port.Port)),
		DestinationPort: opts.DestinationPort,
		Proxyprotocol:   opts.Proxyprotocol,
		HTTP:            (*hcloud.LoadBalancerAddServiceOptsHTTP)(opts.HTTP),
		HealthCheck: &hcloud.LoadBalancerAddServiceOptsHealthCheck{
			Protocol: check.Protocol,
			Port:     check.Port,
			Interval: check.Interval,
			Timeout:  check.Timeout,
			Retries:  check.Retries,
			HTTP:     (*hcloud.LoadBalancerAddServiceOptsHealthCheckHTTP)(check.HTTP),
		},
	})
	return c.apply(ctx, action, response, err)
}

func (c *cloud) applyTargets(ctx context.Context, balancer *hcloud.LoadBalancer, service *v1.Service, nodes []*v1.Node) error {
	existing := map[int64]bool{}
	for _, target := range balancer.Targets {
		existing[target.Server.Server.ID] = true
	}
	usesPrivateIP := settingsOf(service)("use-private-ip") == "true"
	for _, node := range nodes {
		// Of a Node that joins, the next update adds the server.
		id, err := strconv.ParseInt(idOf(node), 10, 64)
		if err != nil || existing[id] {
			continue
		}
		opts := hcloud.LoadBalancerAddServerTargetOpts{Server: &hcloud.Server{ID: id}, UsePrivateIP: &usesPrivateIP}
		action, response, err := c.client.LoadBalancer.AddServerTarget(ctx, balancer, opts)
		if err := c.apply(ctx, action, response, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *cloud) applyType(ctx context.Context, balancer *hcloud.LoadBalancer, service *v1.Service) error {
	wanted := settingsOf(service)("type")
	if wanted == "" || wanted == balancer.LoadBalancerType.Name {
		return nil
	}
	kind, _, err := c.client.LoadBalancerType.Get(ctx, wanted)
	if err != nil {
		return err
	}
	opts := hcloud.LoadBalancerChangeTypeOpts{LoadBalancerType: kind}
	action, response, err := c.client.LoadBalancer.ChangeType(ctx, balancer, opts)
	return c.apply(ctx, action, response, err)
}

func (c *cloud) applyPointer(ctx context.Context, balancer *hcloud.LoadBalancer, ip net.IP, wanted string) error {
	observed, _ := balancer.GetDNSPtrForIP(ip)
	if wanted == "" || wanted == observed {
		return nil
	}
	action, response, err := c.client.LoadBalancer.ChangeDNSPtr(ctx, balancer, ip.String(), &wanted)
	return c.apply(ctx, action, response, err)
}

func statusOf(balancer *hcloud.LoadBalancer, own func(string) string) *v1.LoadBalancerStatus {
	if name := own("hostname"); name != "" {
		return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: name}}}
	}
	mode := v1.LoadBalancerIPModeVIP
	if own("uses-proxyprotocol") == "true" {
		mode = v1.LoadBalancerIPModeProxy
	}
	addresses := []net.IP{}
	if balancer.PublicNet.Enabled {
		addresses = append(addresses, balancer.PublicNet.IPv4.IP)
		if own("ipv6-disabled") != "true" {
			addresses = append(addresses, balancer.PublicNet.IPv6.IP)
		}
	}
	if own("disable-private-ingress") != "true" {
		for _, private := range balancer.PrivateNet {
			addresses = append(addresses, private.IP)
		}
	}
	status := &v1.LoadBalancerStatus{}
	for _, address := range addresses {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: address.String(), IPMode: &mode})
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
	return statusOf(found, settingsOf(service)), true, nil
}

// applyOwn sets what is neither a port nor a target.
func (c *cloud) applyOwn(ctx context.Context, balancer *hcloud.LoadBalancer, service *v1.Service) error {
	own := settingsOf(service)
	if err := c.applyPointer(ctx, balancer, balancer.PublicNet.IPv4.IP, own("ipv4-rdns")); err != nil {
		return err
	}
	if err := c.applyPointer(ctx, balancer, balancer.PublicNet.IPv6.IP, own("ipv6-rdns")); err != nil {
		return err
	}
	return c.applyType(ctx, balancer, service)
}

func (c *cloud) applyPorts(ctx context.Context, balancer *hcloud.LoadBalancer, service *v1.Service) error {
	for _, port := range service.Spec.Ports {
		if err := c.applyPort(ctx, balancer, service, port); err != nil {
			return err
		}
	}
	return nil
}

func (c *cloud) EnsureLoadBalancer(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	balancer, err := c.find(ctx, service)
	if err == nil && balancer == nil {
		balancer, err = c.create(ctx, service)
	}
	if err != nil {
		return nil, err
	}
	if err := c.applyOwn(ctx, balancer, service); err != nil {
		return nil, err
	}
	if err := c.applyPorts(ctx, balancer, service); err != nil {
		return nil, err
	}
	if err := c.applyTargets(ctx, balancer, service, nodes); err != nil {
		return nil, err
	}
	if balancer, err = c.load(ctx, balancer); err != nil {
		return nil, err
	}
	return statusOf(balancer, settingsOf(service)), nil
}

func (c *cloud) UpdateLoadBalancer(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) error {
	balancer, err := c.find(ctx, service)
	if err != nil || balancer == nil {
		return err
	}
	if err := c.applyOwn(ctx, balancer, service); err != nil {
		return err
	}
	if err := c.applyTargets(ctx, balancer, service, nodes); err != nil {
		return err
	}
	return c.applyPorts(ctx, balancer, service)
}

func (c *cloud) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *v1.Service) error {
	found, err := c.find(ctx, service)
	if err != nil || found == nil {
		return err
	}
	deleted, response, err := c.client.LoadBalancer.DeleteWithResult(ctx, found)
	return c.apply(ctx, deleted.Action, response, err)
}
