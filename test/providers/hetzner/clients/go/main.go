// Drives the simulated Hetzner Cloud with the official Go client, and checks the results in the client's own types.
//
// Each step prints a line. The last lines are the numbers of steps that passed and failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"fairlead/steps"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

var ctx = context.Background()

func connect(token, endpoint string, more ...hcloud.ClientOption) *hcloud.Client {
	poll := hcloud.WithPollOpts(hcloud.PollOpts{BackoffFunc: hcloud.ConstantBackoff(50 * time.Millisecond)})
	options := []hcloud.ClientOption{hcloud.WithToken(token), hcloud.WithEndpoint(endpoint), poll}
	return hcloud.NewClient(append(options, more...)...)
}

var client = connect(os.Getenv("FAIRLEAD_TOKEN"), os.Getenv("FAIRLEAD_ENDPOINT"))

// The objects that earlier steps created.
var world struct {
	network     *hcloud.Network
	one, two    *hcloud.Server
	certificate *hcloud.Certificate
	balancer    *hcloud.LoadBalancer
}

func wait(action *hcloud.Action, _ *hcloud.Response, err error) {
	must(err)
	must(client.Action.WaitFor(ctx, action))
}

func cidr(text string) *net.IPNet {
	_, network, err := net.ParseCIDR(text)
	must(err)
	return network
}

func listsLocationsAndTypes() {
	location := got(client.Location.GetByName(ctx, "fsn1"))
	equal(location.NetworkZone, hcloud.NetworkZoneEUCentral)
	limits := got(client.LoadBalancerType.GetByName(ctx, "lb11"))
	equal([]int{limits.MaxServices, limits.MaxTargets, limits.MaxAssignedCertificates}, []int{5, 25, 10})
	equal(got(client.ServerType.GetByName(ctx, "cax11")).Architecture, hcloud.ArchitectureARM)
	equal(got(client.ServerType.GetByName(ctx, "no-such-type")), nil)
}

func createsANetwork() {
	subnet := hcloud.NetworkSubnet{Type: "cloud", IPRange: cidr("10.0.0.0/24"), NetworkZone: "eu-central"}
	opts := hcloud.NetworkCreateOpts{Name: "go-net", IPRange: cidr("10.0.0.0/8"), Subnets: []hcloud.NetworkSubnet{subnet}}
	world.network = got(client.Network.Create(ctx, opts))
	equal(world.network.Subnets[0].Gateway.String(), "10.0.0.1")
	second := hcloud.NetworkSubnet{Type: "cloud", NetworkZone: "eu-central"}
	wait(client.Network.AddSubnet(ctx, world.network, hcloud.NetworkAddSubnetOpts{Subnet: second}))
	world.network = got(client.Network.GetByName(ctx, "go-net"))
	equal(world.network.Subnets[1].IPRange.String(), "10.0.1.0/24")
	renamed := got(client.Network.Update(ctx, world.network, hcloud.NetworkUpdateOpts{Labels: map[string]string{"a": "b"}}))
	equal(renamed.Labels, map[string]string{"a": "b"})
}

func serverOpts(name string) hcloud.ServerCreateOpts {
	return hcloud.ServerCreateOpts{
		Name:       name,
		ServerType: &hcloud.ServerType{Name: "cx23"},
		Image:      &hcloud.Image{Name: "debian-12"},
	}
}

func createsServers() {
	opts := serverOpts("go-1")
	opts.Location = &hcloud.Location{Name: "fsn1"}
	opts.Networks = []*hcloud.Network{world.network}
	opts.Labels = map[string]string{"pool": "go"}
	created := got(client.Server.Create(ctx, opts))
	equal(created.Server.Status, hcloud.ServerStatusInitializing)
	must(client.Action.WaitFor(ctx, created.Action))
	world.one = got(client.Server.GetByName(ctx, "go-1"))
	equal(world.one.Status, hcloud.ServerStatusRunning)
	equal(world.one.Location.Name, "fsn1")
	equal(world.one.PrivateNet[0].Network.ID, world.network.ID)
	equal(world.one.PublicNet.IPv4.IsUnspecified(), false)

	opts = serverOpts("go-2")
	opts.Networks = []*hcloud.Network{world.network}
	opts.PublicNet = &hcloud.ServerCreatePublicNet{}
	created = got(client.Server.Create(ctx, opts))
	must(client.Action.WaitFor(ctx, created.Action))
	world.two = got(client.Server.GetByID(ctx, created.Server.ID))
	equal(world.two.PublicNet.IPv4.IsUnspecified(), true)
	equal(world.two.PublicNet.IPv6.IsUnspecified(), true)
}

func readsAllPages() {
	actions := []*hcloud.Action{}
	for number := range 60 {
		opts := serverOpts(fmt.Sprintf("go-many-%d", number))
		opts.Labels = map[string]string{"go-many": ""}
		actions = append(actions, got(client.Server.Create(ctx, opts)).Action)
	}
	// Reads the actions in batches of 25.
	must(client.Action.WaitFor(ctx, actions...))
	opts := hcloud.ServerListOpts{ListOpts: hcloud.ListOpts{LabelSelector: "go-many", PerPage: 25}}
	servers, err := client.Server.AllWithOpts(ctx, opts)
	must(err)
	equal(len(servers), 60)
	_, response, err := client.Server.List(ctx, opts)
	must(err)
	equal(response.Meta.Pagination.TotalEntries, 60)
	equal(response.Meta.Ratelimit.Limit, 1_000_000)
	for _, server := range servers {
		got(client.Server.DeleteWithResult(ctx, server))
	}
}

func switchesServersOffAndOn() {
	wait(client.Server.Poweroff(ctx, world.one))
	equal(got(client.Server.GetByID(ctx, world.one.ID)).Status, hcloud.ServerStatusOff)
	action := got(client.Server.Poweron(ctx, world.one))
	refused[*hcloud.Action](hcloud.ErrorCodeLocked)(client.Server.Poweroff(ctx, world.one))
	must(client.Action.WaitFor(ctx, action))
	equal(got(client.Server.GetByID(ctx, world.one.ID)).Status, hcloud.ServerStatusRunning)
}

func addsAndDeletesRoutes() {
	route := hcloud.NetworkRoute{Destination: cidr("10.244.0.0/24"), Gateway: world.one.PrivateNet[0].IP}
	wait(client.Network.AddRoute(ctx, world.network, hcloud.NetworkAddRouteOpts{Route: route}))
	routes := got(client.Network.GetByID(ctx, world.network.ID)).Routes
	equal(len(routes), 1)
	equal(routes[0].Destination.String(), "10.244.0.0/24")
	refusal := refused[*hcloud.Action](hcloud.ErrorCodeInvalidInput)(
		client.Network.AddRoute(ctx, world.network, hcloud.NetworkAddRouteOpts{Route: route}))
	equal(refusal.Details.(hcloud.ErrorDetailsInvalidInput).Fields[0].Name, "destination")
	action := got(client.Network.DeleteRoute(ctx, world.network, hcloud.NetworkDeleteRouteOpts{Route: route}))
	impatient := connect(os.Getenv("FAIRLEAD_TOKEN"), os.Getenv("FAIRLEAD_ENDPOINT"), withoutRetries())
	refused[*hcloud.Action](hcloud.ErrorCodeConflict)(
		impatient.Network.DeleteRoute(ctx, world.network, hcloud.NetworkDeleteRouteOpts{Route: route}))
	must(client.Action.WaitFor(ctx, action))
	refused[*hcloud.Action](hcloud.ErrorCodeNotFound)(
		client.Network.DeleteRoute(ctx, world.network, hcloud.NetworkDeleteRouteOpts{Route: route}))
}

func createsCertificates() {
	uploaded := got(client.Certificate.Create(ctx, hcloud.CertificateCreateOpts{
		Name:        "go-uploaded",
		Type:        hcloud.CertificateTypeUploaded,
		Certificate: os.Getenv("FAIRLEAD_CERTIFICATE"),
		PrivateKey:  os.Getenv("FAIRLEAD_KEY"),
	}))
	equal(uploaded.DomainNames, []string{"example.com"})
	managed := hcloud.CertificateCreateOpts{
		Name: "go-managed", Type: hcloud.CertificateTypeManaged, DomainNames: []string{"example.com"},
	}
	created := got(client.Certificate.CreateCertificate(ctx, managed))
	equal(created.Certificate.Status.Issuance, hcloud.CertificateStatusTypePending)
	must(client.Action.WaitFor(ctx, created.Action))
	world.certificate = got(client.Certificate.GetByName(ctx, "go-managed"))
	equal(world.certificate.Status.Issuance, hcloud.CertificateStatusTypeCompleted)
	refused[hcloud.CertificateCreateResult](hcloud.ErrorCodeUniquenessError)(client.Certificate.CreateCertificate(ctx, managed))
	_, err := client.Certificate.Delete(ctx, uploaded)
	must(err)
}

func reportsAFailedAction() {
	action := got(client.Server.Reboot(ctx, world.one))
	var failure hcloud.ActionError
	if err := client.Action.WaitFor(ctx, action); !errors.As(err, &failure) {
		panic(fmt.Sprintf("expected the action to fail, got %v", err))
	}
	equal(failure.Code, "action_failed")
}

func withoutRetries() hcloud.ClientOption {
	return hcloud.WithRetryOpts(hcloud.RetryOpts{BackoffFunc: hcloud.ConstantBackoff(0), MaxRetries: 0})
}

func rejectsOtherTokens() {
	stranger := connect("no-such-token", os.Getenv("FAIRLEAD_ENDPOINT"))
	refused[[]*hcloud.Location](hcloud.ErrorCodeUnauthorized)(stranger.Location.List(ctx, hcloud.LocationListOpts{}))
	viewer := connect(os.Getenv("FAIRLEAD_READONLY_TOKEN"), os.Getenv("FAIRLEAD_ENDPOINT"))
	equal(got(viewer.Server.GetByName(ctx, "go-1")).ID, world.one.ID)
	refused[*hcloud.Network](hcloud.ErrorCodeForbidden)(
		viewer.Network.Create(ctx, hcloud.NetworkCreateOpts{Name: "go-no", IPRange: cidr("10.0.0.0/16")}))
}

func reportsTheRateLimit() {
	limited := connect("any", os.Getenv("FAIRLEAD_LIMITED_ENDPOINT"), withoutRetries())
	var last error
	var response *hcloud.Response
	for range 5 {
		_, response, last = limited.Location.List(ctx, hcloud.LocationListOpts{})
	}
	equal(hcloud.IsError(last, hcloud.ErrorCodeRateLimitExceeded), true)
	equal(response.Meta.Ratelimit.Remaining, 0)
	equal(response.Meta.Ratelimit.Reset.After(time.Now()), true)
}

func main() {
	steps.RunAll("hcloud-go", []steps.Step{
		{Name: "lists locations and types", Run: listsLocationsAndTypes},
		{Name: "creates a network with subnets", Run: createsANetwork},
		{Name: "creates servers", Run: createsServers},
		{Name: "reads all pages, and waits for many actions", Run: readsAllPages},
		{Name: "switches servers off and on", Run: switchesServersOffAndOn},
		{Name: "adds and deletes routes", Run: addsAndDeletesRoutes},
		{Name: "creates certificates", Run: createsCertificates},
		{Name: "creates a load balancer", Run: createsALoadBalancer},
		{Name: "changes services", Run: changesServices},
		{Name: "changes targets", Run: changesTargets},
		{Name: "changes the load balancer", Run: changesTheLoadBalancer},
		{Name: "deletes unless protected", Run: deletesUnlessProtected},
		{Name: "reports a failed action", Run: reportsAFailedAction},
		{Name: "rejects other tokens", Run: rejectsOtherTokens},
		{Name: "reports the rate limit", Run: reportsTheRateLimit},
	})
}
