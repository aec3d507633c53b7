package main

import (
	"github.com/digitalocean/godo"
)

const busy = "Load Balancer can't be updated while it processes previous actions"

func rule(port int) godo.ForwardingRule {
	return godo.ForwardingRule{EntryProtocol: "http", EntryPort: port, TargetProtocol: "http", TargetPort: 30_000 + port}
}

func request(name string) *godo.LoadBalancerRequest {
	return &godo.LoadBalancerRequest{
		Name:            name,
		Region:          "nyc3",
		ForwardingRules: []godo.ForwardingRule{rule(80)},
		DropletIDs:      []int{world.one.ID},
		VPCUUID:         world.vpc.ID,
		Tags:            []string{"k8s:go"},
	}
}

func active(id string) *godo.LoadBalancer {
	var found *godo.LoadBalancer
	until("the load balancer to be active", func() bool {
		found = got(client.LoadBalancers.Get(ctx, id))
		return found.Status == "active"
	})
	return found
}

// Repeats a change while the load balancer processes another.
func repeated(change func() (*godo.Response, error)) {
	until("the load balancer to accept a change", func() bool {
		response, err := change()
		if response != nil && response.StatusCode == 403 {
			return false
		}
		must(err)
		return true
	})
}

func createsALoadBalancer() {
	created := got(client.LoadBalancers.Create(ctx, request("go-lb")))
	equal([]string{created.Status, created.IP}, []string{"new", ""})
	refused[*godo.LoadBalancer](403, busy)(client.LoadBalancers.Update(ctx, created.ID, request("go-lb")))
	world.balancer = active(created.ID)
	equal(world.balancer.IP != "", true)
	equal([]any{world.balancer.Type, world.balancer.Network, world.balancer.Region.Slug}, []any{"REGIONAL", "EXTERNAL", "nyc3"})
	equal([]any{world.balancer.SizeUnit, world.balancer.SizeSlug}, []any{uint32(1), "lb-small"})
	equal([]any{world.balancer.HealthCheck.Protocol, world.balancer.HealthCheck.Path}, []any{"http", "/"})
	equal(world.balancer.DropletIDs, []int{world.one.ID})
	equal(*world.balancer.HTTPIdleTimeoutSeconds, uint64(60))
	equal(world.balancer.Tags, []string{"k8s:go"})
	equal(len(got(client.LoadBalancers.List(ctx, nil))) > 0, true)
	equal(len(got(client.LoadBalancers.ListByNames(ctx, []string{"go-lb"}, nil))), 1)
	equal(len(got(client.LoadBalancers.ListByUUIDs(ctx, []string{created.ID}, nil))), 1)
}

func replacesALoadBalancer() {
	wanted := world.balancer.AsRequest()
	wanted.Name = "go-renamed"
	wanted.SizeSlug, wanted.SizeUnit = "", 3
	wanted.EnableProxyProtocol = true
	wanted.StickySessions = &godo.StickySessions{Type: "cookies", CookieName: "session", CookieTtlSeconds: 300}
	wanted.Firewall = &godo.LBFirewall{Allow: []string{godo.IPSourceFirewall("192.0.2.1")}, Deny: []string{godo.CIDRSourceFirewall("10.0.0.0/8")}}
	wanted.ForwardingRules = append(wanted.ForwardingRules, godo.ForwardingRule{
		EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 30_443, CertificateID: world.certificate.ID,
	})
	replaced := got(client.LoadBalancers.Update(ctx, world.balancer.ID, wanted))
	equal([]any{replaced.Name, replaced.SizeUnit, replaced.SizeSlug}, []any{"go-renamed", uint32(3), "lb-medium"})
	equal(replaced.StickySessions.CookieName, "session")
	equal(replaced.Firewall, wanted.Firewall)
	equal(len(replaced.ForwardingRules), 2)
	// Fields that a replacement omits get their defaults.
	repeated(func() (*godo.Response, error) {
		without := request("go-renamed")
		without.ForwardingRules = replaced.ForwardingRules
		changed, response, err := client.LoadBalancers.Update(ctx, replaced.ID, without)
		if err == nil {
			equal([]any{changed.EnableProxyProtocol, changed.StickySessions.Type, changed.SizeUnit}, []any{false, "none", uint32(1)})
		}
		return response, err
	})
}

func changesParts() {
	id := world.balancer.ID
	repeated(func() (*godo.Response, error) { return client.LoadBalancers.AddDroplets(ctx, id, world.two.ID) })
	equal(got(client.LoadBalancers.Get(ctx, id)).DropletIDs, []int{world.one.ID, world.two.ID})
	repeated(func() (*godo.Response, error) { return client.LoadBalancers.RemoveDroplets(ctx, id, world.one.ID) })
	repeated(func() (*godo.Response, error) { return client.LoadBalancers.AddForwardingRules(ctx, id, rule(81)) })
	repeated(func() (*godo.Response, error) { return client.LoadBalancers.RemoveForwardingRules(ctx, id, rule(80)) })
	changed := got(client.LoadBalancers.Get(ctx, id))
	equal(changed.DropletIDs, []int{world.two.ID})
	equal([]int{changed.ForwardingRules[0].EntryPort, changed.ForwardingRules[1].EntryPort}, []int{443, 81})
}

func createsOtherTypes() {
	network := request("go-network")
	network.Type = godo.LoadBalancerTypeRegionalNetwork
	network.NetworkStack = godo.LoadBalancerNetworkStackDualstack
	refused[*godo.LoadBalancer](422, "network load balancers")(client.LoadBalancers.Create(ctx, network))
	network.ForwardingRules = []godo.ForwardingRule{{EntryProtocol: "udp", EntryPort: 53, TargetProtocol: "udp", TargetPort: 53}}
	created := active(got(client.LoadBalancers.Create(ctx, network)).ID)
	equal(created.IPv6 != "", true)
	network.Type = godo.LoadBalancerTypeRegional
	network.ForwardingRules = []godo.ForwardingRule{rule(80)}
	refused[*godo.LoadBalancer](422, "type cannot be updated")(client.LoadBalancers.Update(ctx, created.ID, network))
	done(client.LoadBalancers.Delete(ctx, created.ID))

	internal := request("go-internal")
	internal.Network = godo.LoadBalancerNetworkTypeInternal
	internal.DropletIDs, internal.Tag = nil, "go"
	inside := active(got(client.LoadBalancers.Create(ctx, internal)).ID)
	equal([]any{inside.Network, inside.DropletIDs}, []any{"INTERNAL", []int{world.one.ID}})
	done(client.LoadBalancers.Delete(ctx, inside.ID))
}

func validatesBalancers() {
	refused[*godo.LoadBalancer](422, "name is not unique")(client.LoadBalancers.Create(ctx, request("go-renamed")))
	invalid := request("go-invalid")
	invalid.ValidateOnly = true
	got(client.LoadBalancers.Create(ctx, invalid))
	equal(len(got(client.LoadBalancers.ListByNames(ctx, []string{"go-invalid"}, nil))), 0)
	invalid.Region = "mars1"
	refused[*godo.LoadBalancer](422, "region")(client.LoadBalancers.Create(ctx, invalid))
}
