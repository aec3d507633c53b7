// Drives the simulated Rancher with the Go client for it, in the order of the Go manager's requests, and checks what the client
// reads after each step.
//
// Each step prints a line. The last lines are the numbers of steps that passed and failed.
package main

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"fairlead/steps"

	rancher "github.com/rancher/go-rancher/v2"
)

var (
	endpoint = os.Getenv("FAIRLEAD_ENDPOINT")
	control  = os.Getenv("FAIRLEAD_CONTROL")
)

// The simulated cloud has a clock that stands still between requests. Without it, time passes.
func tell(path string) {
	if control == "" {
		return
	}
	response, err := http.Post(control+path, "text/plain", nil)
	steps.Must(err)
	response.Body.Close()
	steps.Equal(response.StatusCode, 204)
}

func pause(duration time.Duration) {
	if control == "" {
		time.Sleep(duration)
		return
	}
	tell("/pause/" + duration.String())
}

// The requests until the next one count for this part of the trace.
func part(name string) { tell("/part/" + name) }

func connect(secret string) (*rancher.RancherClient, error) {
	opts := rancher.ClientOpts{Url: endpoint, AccessKey: os.Getenv("FAIRLEAD_ACCESS_KEY"), SecretKey: secret}
	return rancher.NewRancherClient(&opts)
}

var (
	api *rancher.RancherClient
	m   *manager
	// The first Service, and one that shares its Nodes.
	web   = balancer{name: "lb-a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d", ports: []port{{8080, 30080}}, nodes: []string{"node-1", "node-2", "node-3"}}
	other = balancer{name: "lb-a9b2c3d4e5f6a7b8c9d0e1f2a3b4c5d", ports: []port{{9090, 30090}}, nodes: []string{"node-1"}}
)

func must[T any](value T, err error) T {
	steps.Must(err)
	return value
}

func refused(err error, status int, texts ...string) {
	var refusal *rancher.ApiError
	if !errors.As(err, &refusal) {
		panic(err)
	}
	steps.Equal(refusal.StatusCode, status)
	for _, text := range texts {
		if !strings.Contains(refusal.Msg, text) {
			panic("expected " + text + " in " + refusal.Msg)
		}
	}
}

// As the service controller, which calls again after a time.
func again(after time.Duration, call func() error) (failures []string) {
	for range 3 {
		err := call()
		if err == nil {
			return failures
		}
		failures = append(failures, err.Error())
		pause(after)
	}
	panic(strings.Join(failures, "\n"))
}

func found(name string) *rancher.LoadBalancerService {
	lb := must(m.find(name))
	if lb == nil {
		panic("there is no " + name)
	}
	return lb
}

// As node:targetPort, in order.
func targetsOf(name string) []string {
	targets := []string{}
	for _, rule := range found(name).LbConfig.PortRules {
		service := must(api.ExternalService.ById(rule.ServiceId))
		steps.Equal(service.State, "active")
		targets = append(targets, service.Name)
	}
	slices.Sort(targets)
	return targets
}

func connects() {
	api = must(connect(os.Getenv("FAIRLEAD_SECRET_KEY")))
	m = &manager{api: api, pause: pause}
	_, err := connect("wrong")
	refused(err, 401, "Unauthorized")
	schema := api.GetTypes()["loadBalancerService"]
	steps.Equal(schema.ResourceActions["setservicelinks"].Input, "setServiceLinksInput")
	steps.Equal(schema.ResourceFields["lbConfig"].Type, "lbConfig")
	steps.Equal(schema.ResourceFields["launchConfig"].Required, true)
}

func readsHosts() {
	host, ips, err := m.host("NODE-2")
	steps.Must(err)
	steps.Equal(ips, []string{"192.0.2.2"})
	steps.Equal(host.Hostname, "node-2")
	steps.Equal(host.State, "active")
	steps.Equal(must(api.Host.List(filters("uuid", host.Uuid))).Data[0].Id, host.Id)
	_, _, err = m.host("node-99")
	steps.Equal(err, errNoHost)
}

func createsALoadBalancer() {
	_, exists, err := m.get(web.name)
	steps.Must(err)
	steps.Equal(exists, false)
	part("create")
	ips := must(m.ensure(web))
	part("")
	steps.Equal(len(ips), 1)
	again, exists, err := m.get(web.name)
	steps.Must(err)
	steps.Equal(exists, true)
	steps.Equal(again, ips)
	lb := found(web.name)
	steps.Equal(lb.LaunchConfig.Ports, []string{"8080:8080/tcp"})
	steps.Equal(lb.Scale, 1)
	steps.Equal(lb.PublicEndpoints[0].Port, 8080)
	steps.Equal(targetsOf(web.name), web.nodes)
	steps.Equal(lb.LbConfig.PortRules[0].TargetPort, 30080)
}

func sharesExternalServices() {
	// With nothing to wait for, the change of the rules comes too early, and is refused.
	failures := again(5*time.Second, func() error {
		_, err := m.ensure(other)
		return err
	})
	steps.Equal(len(failures), 1)
	steps.Equal(strings.Contains(failures[0], "409"), true)
	var users rancher.ServiceCollection
	shared := must(api.ExternalService.List(filters("name", "node-1", "removed_null", "1"))).Data[0]
	steps.Must(api.GetLink(shared.Resource, "consumedbyservices", &users))
	steps.Equal(len(users.Data), 2)
	steps.Must(m.remove(other.name))
	pause(3 * time.Second)
	steps.Equal(must(api.ExternalService.ById(shared.Id)).State, "active")
	var consumed rancher.ServiceCollection
	steps.Must(api.GetLink(found(web.name).Resource, "consumedservices", &consumed))
	steps.Equal(len(consumed.Data), 3)
	steps.Equal(consumed.Data[0].Type, "externalService")
}

func addsANode() {
	web.nodes = append(web.nodes, "node-4")
	part("node added")
	failures := again(100*time.Second, func() error { return m.update(web) })
	part("")
	// It finds the services that it has just removed, and waits for them.
	steps.Equal(failures, []string{"timed out waiting for activate"})
	pause(3 * time.Second)
	steps.Equal(targetsOf(web.name), web.nodes)
}

func changesAPort() {
	before := found(web.name)
	web.ports = []port{{8443, 30443}}
	part("port changed")
	failures := again(5*time.Second, func() error {
		_, err := m.ensure(web)
		return err
	})
	part("")
	// The name of the removed load balancer is still taken.
	steps.Equal(len(failures), 1)
	steps.Equal(strings.Contains(failures[0], "NotUnique"), true)
	after := found(web.name)
	steps.Equal(after.LaunchConfig.Ports, []string{"8443:8443/tcp"})
	steps.Equal(after.Id == before.Id, false)
	steps.Equal(must(api.LoadBalancerService.ById(before.Id)).State, "removed")
}

func refusesWhatIsWrong() {
	lb := found(web.name)
	_, err := api.ExternalService.Create(&rancher.ExternalService{Name: "NODE-1", StackId: lb.StackId, ExternalIpAddresses: []string{"192.0.2.1"}})
	refused(err, 422, "NotUnique", "fieldName=name")
	_, err = api.ExternalService.Create(&rancher.ExternalService{Name: "node_1", StackId: lb.StackId, ExternalIpAddresses: []string{"192.0.2.1"}})
	refused(err, 422, "InvalidCharacters")
	_, err = api.LoadBalancerService.Create(&rancher.LoadBalancerService{Name: "lb-x", StackId: lb.StackId, LbConfig: &rancher.LbConfig{}})
	refused(err, 422, "MissingRequired", "launchConfig")
	change := func(rule rancher.PortRule) error {
		_, err := api.LoadBalancerService.Update(lb, map[string]any{"lbConfig": rancher.LbConfig{PortRules: []rancher.PortRule{rule}}})
		return err
	}
	id := lb.LbConfig.PortRules[0].ServiceId
	refused(change(rancher.PortRule{SourcePort: 1, TargetPort: 1, ServiceId: id, Protocol: "sctp"}), 422, "InvalidOption", "protocol")
	refused(change(rancher.PortRule{SourcePort: 1, ServiceId: id}), 422, "MissingRequired", "targetPort")
	refused(change(rancher.PortRule{SourcePort: 1, TargetPort: 1, ServiceId: "1s99999"}), 422, "InvalidReference")
	refused(change(rancher.PortRule{SourcePort: 42, TargetPort: 1, ServiceId: id}), 422, "InvalidOption")
	steps.Equal(must(api.LoadBalancerService.ById("1s99999")) == nil, true)
}

func deletesTheLoadBalancer() {
	part("delete")
	steps.Must(m.remove(web.name))
	part("")
	pause(3 * time.Second)
	_, exists, err := m.get(web.name)
	steps.Must(err)
	steps.Equal(exists, false)
	left := must(api.ExternalService.List(filters("removed_null", "1")))
	steps.Equal(len(left.Data), 0)
	steps.Must(m.remove(web.name))
}

func readsAllPages() {
	hosts := must(api.Host.List(filters("removed_null", "1", "name_prefix", "many-")))
	steps.Equal(len(hosts.Data), 100)
	total := len(hosts.Data)
	for page := must(hosts.Next()); page != nil; page = must(page.Next()) {
		total += len(page.Data)
	}
	steps.Equal(total, 250)
}

func main() {
	steps.RunAll("go-rancher", []steps.Step{
		{Name: "connects, and reads the schema", Run: connects},
		{Name: "reads hosts", Run: readsHosts},
		{Name: "creates a load balancer", Run: createsALoadBalancer},
		{Name: "shares external services", Run: sharesExternalServices},
		{Name: "adds a Node", Run: addsANode},
		{Name: "changes a port", Run: changesAPort},
		{Name: "refuses what is wrong", Run: refusesWhatIsWrong},
		{Name: "deletes the load balancer", Run: deletesTheLoadBalancer},
		{Name: "reads all pages", Run: readsAllPages},
	})
}
