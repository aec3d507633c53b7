package main

import (
	"net"
	"os"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

func reload() *hcloud.LoadBalancer {
	return got(client.LoadBalancer.GetByID(ctx, world.balancer.ID))
}

func createsALoadBalancer() {
	created := got(client.LoadBalancer.Create(ctx, hcloud.LoadBalancerCreateOpts{
		Name:             "go-lb",
		LoadBalancerType: &hcloud.LoadBalancerType{Name: "lb11"},
		NetworkZone:      "eu-central",
		Algorithm:        &hcloud.LoadBalancerAlgorithm{Type: hcloud.LoadBalancerAlgorithmTypeLeastConnections},
		Network:          world.network,
		Labels:           map[string]string{"hcloud-ccm/service-uid": "one"},
		Targets: []hcloud.LoadBalancerCreateOptsTarget{{
			Type:         hcloud.LoadBalancerTargetTypeServer,
			Server:       hcloud.LoadBalancerCreateOptsTargetServer{Server: world.one},
			UsePrivateIP: hcloud.Ptr(true),
		}},
		Services: []hcloud.LoadBalancerCreateOptsService{{
			Protocol:        hcloud.LoadBalancerServiceProtocolTCP,
			ListenPort:      hcloud.Ptr(80),
			DestinationPort: hcloud.Ptr(30080),
			Proxyprotocol:   hcloud.Ptr(true),
			HealthCheck: &hcloud.LoadBalancerCreateOptsServiceHealthCheck{
				Protocol: hcloud.LoadBalancerServiceProtocolTCP,
				Port:     hcloud.Ptr(30080),
				Interval: hcloud.Ptr(5 * time.Second),
				Timeout:  hcloud.Ptr(3 * time.Second),
				Retries:  hcloud.Ptr(2),
			},
		}},
	}))
	must(client.Action.WaitFor(ctx, created.Action))
	opts := hcloud.LoadBalancerListOpts{ListOpts: hcloud.ListOpts{LabelSelector: "hcloud-ccm/service-uid==one"}}
	found, err := client.LoadBalancer.AllWithOpts(ctx, opts)
	must(err)
	equal(len(found), 1)
	world.balancer = found[0]
	equal(world.balancer.PublicNet.Enabled, true)
	equal(world.balancer.PublicNet.IPv4.IP != nil && world.balancer.PublicNet.IPv6.IP != nil, true)
	equal(world.balancer.PrivateNet[0].Network.ID, world.network.ID)
	equal(world.balancer.Targets[0].Server.Server.ID, world.one.ID)
	equal(world.balancer.Targets[0].HealthStatus[0].Status, hcloud.LoadBalancerTargetHealthStatusStatusHealthy)
	equal(world.balancer.Services[0].HealthCheck.Interval, 5*time.Second)
	equal(world.balancer.Services[0].Proxyprotocol, true)
	changed := got(client.LoadBalancer.Update(ctx, world.balancer, hcloud.LoadBalancerUpdateOpts{Name: "go-renamed"}))
	equal(changed.Name, "go-renamed")
}

func changesServices() {
	check := &hcloud.LoadBalancerAddServiceOptsHealthCheck{
		Protocol: hcloud.LoadBalancerServiceProtocolHTTP,
		Port:     hcloud.Ptr(30443),
		Interval: hcloud.Ptr(15 * time.Second),
		Timeout:  hcloud.Ptr(10 * time.Second),
		Retries:  hcloud.Ptr(3),
		HTTP: &hcloud.LoadBalancerAddServiceOptsHealthCheckHTTP{
			Domain: hcloud.Ptr("example.com"), Path: hcloud.Ptr("/healthz"), StatusCodes: []string{"2??"},
		},
	}
	opts := hcloud.LoadBalancerAddServiceOpts{
		Protocol:        hcloud.LoadBalancerServiceProtocolHTTPS,
		ListenPort:      hcloud.Ptr(443),
		DestinationPort: hcloud.Ptr(30443),
		Proxyprotocol:   hcloud.Ptr(false),
		HTTP: &hcloud.LoadBalancerAddServiceOptsHTTP{
			Certificates: []*hcloud.Certificate{world.certificate}, StickySessions: hcloud.Ptr(true),
			TimeoutIdle: hcloud.Ptr(90 * time.Second),
		},
		HealthCheck: check,
	}
	wait(client.LoadBalancer.AddService(ctx, world.balancer, opts))
	refused[*hcloud.Action](hcloud.ErrorCodeSourcePortAlreadyUsed)(client.LoadBalancer.AddService(ctx, world.balancer, opts))
	service := reload().Services[1]
	equal(service.HTTP.Certificates[0].ID, world.certificate.ID)
	equal(service.HTTP.TimeoutIdle, 90*time.Second)
	equal(service.HTTP.CookieLifetime, 300*time.Second)
	equal(service.HealthCheck.HTTP.Path, "/healthz")
	equal(got(client.Certificate.GetByID(ctx, world.certificate.ID)).UsedBy[0].ID, world.balancer.ID)
	wait(client.LoadBalancer.UpdateService(ctx, world.balancer, 443, hcloud.LoadBalancerUpdateServiceOpts{
		DestinationPort: hcloud.Ptr(31443),
		HTTP:            &hcloud.LoadBalancerUpdateServiceOptsHTTP{CookieName: hcloud.Ptr("STICKY")},
	}))
	service = reload().Services[1]
	equal([]any{service.DestinationPort, service.HTTP.CookieName, service.HTTP.StickySessions}, []any{31443, "STICKY", true})
	wait(client.LoadBalancer.DeleteService(ctx, world.balancer, 443))
	equal(len(reload().Services), 1)
	refused[*hcloud.Action](hcloud.ErrorCodeNotFound)(client.LoadBalancer.DeleteService(ctx, world.balancer, 443))
}

func changesTargets() {
	balancer, private := world.balancer, hcloud.Ptr(true)
	public := hcloud.LoadBalancerAddServerTargetOpts{Server: world.two}
	refused[*hcloud.Action](hcloud.ErrorCodeMissingIPv4)(client.LoadBalancer.AddServerTarget(ctx, balancer, public))
	opts := hcloud.LoadBalancerAddServerTargetOpts{Server: world.two, UsePrivateIP: private}
	wait(client.LoadBalancer.AddServerTarget(ctx, balancer, opts))
	refused[*hcloud.Action](hcloud.ErrorCodeTargetAlreadyDefined)(client.LoadBalancer.AddServerTarget(ctx, balancer, opts))
	robot := net.ParseIP(os.Getenv("FAIRLEAD_ROBOT_IP"))
	wait(client.LoadBalancer.AddIPTarget(ctx, balancer, hcloud.LoadBalancerAddIPTargetOpts{IP: robot}))
	cloud := hcloud.LoadBalancerAddIPTargetOpts{IP: world.one.PublicNet.IPv4.IP}
	refused[*hcloud.Action](hcloud.ErrorCodeCloudResourceIPNotAllowed)(client.LoadBalancer.AddIPTarget(ctx, balancer, cloud))
	selector := hcloud.LoadBalancerAddLabelSelectorTargetOpts{Selector: "pool=go", UsePrivateIP: private}
	wait(client.LoadBalancer.AddLabelSelectorTarget(ctx, balancer, selector))
	targets := reload().Targets
	equal(len(targets), 4)
	equal(targets[2].IP.IP, robot.String())
	equal(targets[3].Targets[0].Server.Server.ID, world.one.ID)
	wait(client.LoadBalancer.RemoveServerTarget(ctx, balancer, world.two))
	wait(client.LoadBalancer.RemoveIPTarget(ctx, balancer, robot))
	wait(client.LoadBalancer.RemoveLabelSelectorTarget(ctx, balancer, "pool=go"))
	refused[*hcloud.Action](hcloud.ErrorCodeNotFound)(client.LoadBalancer.RemoveServerTarget(ctx, balancer, world.two))
}

func changesTheLoadBalancer() {
	balancer := world.balancer
	algorithm := hcloud.LoadBalancerChangeAlgorithmOpts{Type: hcloud.LoadBalancerAlgorithmTypeRoundRobin}
	action := got(client.LoadBalancer.ChangeAlgorithm(ctx, balancer, algorithm))
	refused[*hcloud.Action](hcloud.ErrorCodeLocked)(client.LoadBalancer.ChangeAlgorithm(ctx, balancer, algorithm))
	must(client.Action.WaitFor(ctx, action))
	wait(client.LoadBalancer.ChangeType(ctx, balancer, hcloud.LoadBalancerChangeTypeOpts{
		LoadBalancerType: &hcloud.LoadBalancerType{Name: "lb21"},
	}))
	wait(client.LoadBalancer.ChangeDNSPtr(ctx, balancer, balancer.PublicNet.IPv6.IP.String(), hcloud.Ptr("lb.example.com")))
	wait(client.LoadBalancer.DisablePublicInterface(ctx, balancer))
	shown := reload()
	equal(shown.PublicNet.Enabled, false)
	equal(shown.PublicNet.IPv6.DNSPtr, "lb.example.com")
	equal(shown.LoadBalancerType.Name, "lb21")
	wait(client.LoadBalancer.EnablePublicInterface(ctx, balancer))
	attach := hcloud.LoadBalancerAttachToNetworkOpts{Network: world.network, IP: net.ParseIP("10.0.1.9")}
	refused[*hcloud.Action](hcloud.ErrorCodeLoadBalancerAlreadyAttached)(client.LoadBalancer.AttachToNetwork(ctx, balancer, attach))
	detach := hcloud.LoadBalancerDetachFromNetworkOpts{Network: world.network}
	wait(client.LoadBalancer.DetachFromNetwork(ctx, balancer, detach))
	refused[*hcloud.Action](hcloud.ErrorCodeLoadBalancerNotAttachedToNetwork)(
		client.LoadBalancer.DisablePublicInterface(ctx, balancer))
	wait(client.LoadBalancer.AttachToNetwork(ctx, balancer, attach))
	equal(reload().PrivateNet[0].IP.String(), "10.0.1.9")
}

func deletesUnlessProtected() {
	protect := hcloud.LoadBalancerChangeProtectionOpts{Delete: hcloud.Ptr(true)}
	wait(client.LoadBalancer.ChangeProtection(ctx, world.balancer, protect))
	refused[hcloud.LoadBalancerDeleteResult](hcloud.ErrorCodeProtected)(client.LoadBalancer.DeleteWithResult(ctx, world.balancer))
	release := hcloud.LoadBalancerChangeProtectionOpts{Delete: hcloud.Ptr(false)}
	wait(client.LoadBalancer.ChangeProtection(ctx, world.balancer, release))
	deleted := got(client.LoadBalancer.DeleteWithResult(ctx, world.balancer))
	must(client.Action.WaitFor(ctx, deleted.Action))
	equal(reload(), nil)
	_, err := client.Certificate.Delete(ctx, world.certificate)
	must(err)
	_, err = client.Network.Delete(ctx, world.network)
	must(err)
	equal(got(client.Network.GetByName(ctx, "go-net")), nil)
	equal(len(got(client.Server.GetByID(ctx, world.one.ID)).PrivateNet), 0)
}
