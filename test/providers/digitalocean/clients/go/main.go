// Drives the simulated DigitalOcean with the official Go client, and checks the results in the client's own types.
//
// Each step prints a line. The last lines are the numbers of steps that passed and failed.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"fairlead/steps"

	"github.com/digitalocean/godo"
)

var ctx = context.Background()

func connect(token, endpoint string) *godo.Client {
	transport := &authorized{token}
	client, err := godo.New(&http.Client{Transport: transport}, godo.SetBaseURL(endpoint))
	must(err)
	return client
}

type authorized struct{ token string }

func (a *authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+a.token)
	return http.DefaultTransport.RoundTrip(request)
}

var client = connect(os.Getenv("FAIRLEAD_TOKEN"), os.Getenv("FAIRLEAD_ENDPOINT"))

// The objects that earlier steps created.
var world struct {
	vpc         *godo.VPC
	one, two    *godo.Droplet
	certificate *godo.Certificate
	balancer    *godo.LoadBalancer
}

func readsRegionsAndTheAccount() {
	slugs := map[string]bool{}
	for _, region := range got(client.Regions.List(ctx, &godo.ListOptions{})) {
		slugs[region.Slug] = region.Available
	}
	equal(slugs["nyc3"], true)
	equal(got(client.Account.Get(ctx)).Status, "active")
}

func createsAVPC() {
	created := got(client.VPCs.Create(ctx, &godo.VPCCreateRequest{Name: "go-vpc", RegionSlug: "nyc3"}))
	equal(created.URN, "do:vpc:"+created.ID)
	update := &godo.VPCUpdateRequest{Name: "go-renamed", Description: "clients"}
	world.vpc = got(client.VPCs.Update(ctx, created.ID, update))
	equal(got(client.VPCs.Get(ctx, created.ID)).Name, "go-renamed")
	equal(len(got(client.VPCs.List(ctx, nil))) > 0, true)
	refused[*godo.VPC](422, "region")(client.VPCs.Create(ctx, &godo.VPCCreateRequest{Name: "go-no", RegionSlug: "mars1"}))
}

func droplet(name string, tags ...string) *godo.DropletCreateRequest {
	image := godo.DropletCreateImage{Slug: "ubuntu-24-04-x64"}
	return &godo.DropletCreateRequest{
		Name: name, Region: "nyc3", Size: "s-1vcpu-2gb", Image: image, Tags: tags, IPv6: true, VPCUUID: world.vpc.ID,
	}
}

func createsDroplets() {
	created := got(client.Droplets.Create(ctx, droplet("go-1", "go")))
	equal(created.Status, "new")
	until("the droplet to start", func() bool {
		world.one = got(client.Droplets.Get(ctx, created.ID))
		return world.one.Status == "active"
	})
	for _, address := range []func() (string, error){world.one.PublicIPv4, world.one.PrivateIPv4, world.one.PublicIPv6} {
		text, err := address()
		must(err)
		equal(text != "", true)
	}
	equal([]any{world.one.SizeSlug, world.one.Region.Slug, world.one.Vcpus}, []any{"s-1vcpu-2gb", "nyc3", 1})
	request := droplet("go-2")
	request.PublicNetworking = godo.PtrTo(false)
	world.two = got(client.Droplets.Create(ctx, request))
	until("the second droplet to start", func() bool {
		world.two = got(client.Droplets.Get(ctx, world.two.ID))
		return world.two.Status == "active"
	})
	public, err := world.two.PublicIPv4()
	must(err)
	equal(public, "")
	equal(len(got(client.Droplets.ListByName(ctx, "go-2", nil))), 1)
	members := got(client.VPCs.ListMembers(ctx, world.vpc.ID, nil, nil))
	equal(len(members), 2)
	refused[*godo.Droplet](404, "could not be found")(client.Droplets.Get(ctx, 7))
}

func switchesDropletsOffAndOn() {
	got(client.DropletActions.PowerOff(ctx, world.one.ID))
	equal(got(client.Droplets.Get(ctx, world.one.ID)).Status, "off")
	got(client.DropletActions.PowerOn(ctx, world.one.ID))
	equal(got(client.Droplets.Get(ctx, world.one.ID)).Status, "active")
}

func readsAllPages() {
	for number := range 45 {
		got(client.Droplets.Create(ctx, droplet(fmt.Sprintf("go-many-%d", number), "go-many")))
	}
	names := map[string]bool{}
	options := &godo.ListOptions{PerPage: 20}
	for pages := 1; ; pages++ {
		page, response, err := client.Droplets.ListByTag(ctx, "go-many", options)
		must(err)
		for _, each := range page {
			names[each.Name] = true
		}
		equal(response.Meta.Total, 45)
		equal(response.Rate.Limit, 1_000_000)
		if response.Links == nil || response.Links.IsLastPage() {
			equal(pages, 3)
			break
		}
		current, err := response.Links.CurrentPage()
		must(err)
		options.Page = current + 1
	}
	equal(len(names), 45)
	done(client.Droplets.DeleteByTag(ctx, "go-many"))
	equal(len(got(client.Droplets.ListByTag(ctx, "go-many", nil))), 0)
}

func tagsResources() {
	got(client.Tags.Create(ctx, &godo.TagCreateRequest{Name: "k8s:go"}))
	resources := []godo.Resource{{ID: strconv.Itoa(world.one.ID), Type: godo.DropletResourceType}}
	done(client.Tags.TagResources(ctx, "k8s:go", &godo.TagResourcesRequest{Resources: resources}))
	equal(got(client.Tags.Get(ctx, "k8s:go")).Resources.Droplets.Count, 1)
	equal(got(client.Droplets.Get(ctx, world.one.ID)).Tags, []string{"go", "k8s:go"})
	done(client.Tags.UntagResources(ctx, "k8s:go", &godo.UntagResourcesRequest{Resources: resources}))
	equal(got(client.Tags.Get(ctx, "k8s:go")).Resources.Count, 0)
	equal(len(got(client.Tags.List(ctx, nil))) > 1, true)
	refusedCall(404, "could not be found")(client.Tags.TagResources(ctx, "no-such-tag", &godo.TagResourcesRequest{Resources: resources}))
}

func createsCertificates() {
	uploaded := got(client.Certificates.Create(ctx, &godo.CertificateRequest{
		Name: "go-uploaded", Type: "custom",
		LeafCertificate: os.Getenv("FAIRLEAD_CERTIFICATE"), PrivateKey: os.Getenv("FAIRLEAD_KEY"),
	}))
	equal(uploaded.State, "verified")
	request := &godo.CertificateRequest{Name: "go-le", Type: "lets_encrypt", DNSNames: []string{"example.com"}}
	equal(got(client.Certificates.Create(ctx, request)).State, "pending")
	until("the certificate to be issued", func() bool {
		world.certificate = &got(client.Certificates.ListByName(ctx, "go-le", nil))[0]
		return world.certificate.State == "verified"
	})
	equal(got(client.Certificates.Get(ctx, world.certificate.ID)).DNSNames, []string{"example.com"})
	refused[*godo.Certificate](422, "already used")(client.Certificates.Create(ctx, request))
	equal(len(got(client.Certificates.List(ctx, nil))) > 1, true)
	done(client.Certificates.Delete(ctx, uploaded.ID))
}

func changesFirewalls() {
	source := &godo.Sources{Addresses: []string{"0.0.0.0/0", "::/0"}}
	rule := godo.InboundRule{Protocol: "tcp", PortRange: "30000-32767", Sources: source}
	out := godo.OutboundRule{Protocol: "udp", PortRange: "all", Destinations: &godo.Destinations{Addresses: []string{"0.0.0.0/0"}}}
	request := &godo.FirewallRequest{
		Name: "go-firewall", InboundRules: []godo.InboundRule{rule}, OutboundRules: []godo.OutboundRule{out}, Tags: []string{"go"},
	}
	created := got(client.Firewalls.Create(ctx, request))
	equal(created.OutboundRules[0].PortRange, "0")
	done(client.Firewalls.AddDroplets(ctx, created.ID, world.one.ID))
	more := &godo.FirewallRulesRequest{InboundRules: []godo.InboundRule{{Protocol: "icmp", Sources: source}}}
	done(client.Firewalls.AddRules(ctx, created.ID, more))
	done(client.Firewalls.RemoveTags(ctx, created.ID, "go"))
	changed := got(client.Firewalls.Get(ctx, created.ID))
	equal([]any{changed.DropletIDs, len(changed.InboundRules), changed.Tags}, []any{[]int{world.one.ID}, 2, []string{}})
	done(client.Firewalls.RemoveRules(ctx, created.ID, more))
	done(client.Firewalls.RemoveDroplets(ctx, created.ID, world.one.ID))
	equal(len(got(client.Firewalls.Update(ctx, created.ID, request)).InboundRules), 1)
	refused[*godo.Firewall](409, "duplicate name")(client.Firewalls.Create(ctx, request))
	equal(len(got(client.Firewalls.List(ctx, nil))) > 0, true)
	done(client.Firewalls.Delete(ctx, created.ID))
}

func deletesEverything() {
	refusedCall(403, "not in use")(client.Certificates.Delete(ctx, world.certificate.ID))
	done(client.LoadBalancers.Delete(ctx, world.balancer.ID))
	refused[*godo.LoadBalancer](404, "")(client.LoadBalancers.Get(ctx, world.balancer.ID))
	done(client.Certificates.Delete(ctx, world.certificate.ID))
	refusedCall(403, "members")(client.VPCs.Delete(ctx, world.vpc.ID))
	for _, each := range []*godo.Droplet{world.one, world.two} {
		done(client.Droplets.Delete(ctx, each.ID))
	}
	done(client.VPCs.Delete(ctx, world.vpc.ID))
	done(client.Tags.Delete(ctx, "k8s:go"))
}

func rejectsOtherTokens() {
	stranger := connect("no-such-token", os.Getenv("FAIRLEAD_ENDPOINT"))
	refused[*godo.Account](401, "Unable to authenticate you")(stranger.Account.Get(ctx))
	viewer := connect(os.Getenv("FAIRLEAD_READONLY_TOKEN"), os.Getenv("FAIRLEAD_ENDPOINT"))
	got(viewer.Account.Get(ctx))
	refused[*godo.Tag](403, "")(viewer.Tags.Create(ctx, &godo.TagCreateRequest{Name: "no"}))
}

func reportsTheRateLimit() {
	limited := connect("any", os.Getenv("FAIRLEAD_LIMITED_ENDPOINT"))
	for range 3 {
		got(limited.Account.Get(ctx))
	}
	_, response, err := limited.Account.Get(ctx)
	refused[*godo.Account](429, "")(nil, response, err)
	equal([]int{response.Rate.Limit, response.Rate.Remaining}, []int{3, 0})
	equal(response.Rate.Reset.IsZero(), false)
}

func main() {
	steps.RunAll("godo", []steps.Step{
		{Name: "reads regions and the account", Run: readsRegionsAndTheAccount},
		{Name: "creates a VPC", Run: createsAVPC},
		{Name: "creates droplets, with and without public networking", Run: createsDroplets},
		{Name: "switches droplets off and on", Run: switchesDropletsOffAndOn},
		{Name: "reads all pages by links", Run: readsAllPages},
		{Name: "tags resources", Run: tagsResources},
		{Name: "creates certificates", Run: createsCertificates},
		{Name: "changes firewalls", Run: changesFirewalls},
		{Name: "attaches and resizes volumes", Run: attachesVolumes},
		{Name: "creates a load balancer", Run: createsALoadBalancer},
		{Name: "replaces a load balancer", Run: replacesALoadBalancer},
		{Name: "changes droplets and rules of a load balancer", Run: changesParts},
		{Name: "creates other types of load balancers", Run: createsOtherTypes},
		{Name: "validates load balancers", Run: validatesBalancers},
		{Name: "deletes everything", Run: deletesEverything},
		{Name: "rejects other tokens", Run: rejectsOtherTokens},
		{Name: "reports the rate limit", Run: reportsTheRateLimit},
	})
}
