// Runs govmomi's simulator of vCenter, with a second port on which a test changes its machines, sessions and tags.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const user, password, sharedToken = "manager@vsphere.local", "secret", "shared"

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// nic is what VMware Tools report about an interface.
type nic struct {
	Network  string   `json:"network"`
	DeviceID int32    `json:"deviceConfigId"`
	IPs      []string `json:"ips"`
}

// change is what a test changes of a machine. What is absent stays.
type change struct {
	HostName    *string           `json:"hostName"`
	Nics        *[]nic            `json:"nics"`
	Power       *string           `json:"power"`
	Connection  *string           `json:"connection"`
	UUID        *string           `json:"uuid"`
	NoConfig    bool              `json:"noConfig"`
	Template    *bool             `json:"template"`
	ExtraConfig map[string]string `json:"extraConfig"`
}

type control struct {
	model  *simulator.Model
	server *simulator.Server
}

func (c *control) machine(name string) *simulator.VirtualMachine {
	for _, entity := range c.model.Map().All("VirtualMachine") {
		if vm, ok := entity.(*simulator.VirtualMachine); ok && vm.Name == name {
			return vm
		}
	}
	return nil
}

func (c *control) apply(vm *simulator.VirtualMachine, wanted change) {
	c.model.Service.Context.WithLock(vm, func() {
		if wanted.HostName != nil {
			vm.Guest.HostName = *wanted.HostName
			vm.Summary.Guest.HostName = *wanted.HostName
		}
		if wanted.Nics != nil {
			vm.Guest.Net = nil
			for _, one := range *wanted.Nics {
				vm.Guest.Net = append(vm.Guest.Net, types.GuestNicInfo{
					Network: one.Network, DeviceConfigId: one.DeviceID, IpAddress: one.IPs, Connected: true,
				})
			}
		}
		if wanted.Power != nil {
			vm.Runtime.PowerState = types.VirtualMachinePowerState(*wanted.Power)
			vm.Summary.Runtime.PowerState = vm.Runtime.PowerState
		}
		if wanted.Connection != nil {
			vm.Runtime.ConnectionState = types.VirtualMachineConnectionState(*wanted.Connection)
		}
		if wanted.UUID != nil {
			vm.Config.Uuid = *wanted.UUID
			vm.Summary.Config.Uuid = *wanted.UUID
		}
		if wanted.Template != nil {
			vm.Config.Template = *wanted.Template
			vm.Summary.Config.Template = *wanted.Template
		}
		for key, value := range wanted.ExtraConfig {
			vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
		if wanted.NoConfig {
			vm.Config = nil
			vm.Summary.Config.Uuid = ""
		}
	})
}

func (c *control) serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	switch r.URL.Path {
	case "/machines":
		type machine struct {
			Ref  string `json:"ref"`
			Name string `json:"name"`
			UUID string `json:"uuid"`
			IP   string `json:"ip"`
		}
		all := []machine{}
		for _, entity := range c.model.Map().All("VirtualMachine") {
			vm := entity.(*simulator.VirtualMachine)
			if vm.Config != nil {
				all = append(all, machine{vm.Self.Value, vm.Name, vm.Config.Uuid, vm.Guest.IpAddress})
			}
		}
		check(json.NewEncoder(w).Encode(all))
	case "/change":
		var wanted change
		check(json.NewDecoder(r.Body).Decode(&wanted))
		vm := c.machine(name)
		if vm == nil {
			http.NotFound(w, r)
			return
		}
		c.apply(vm, wanted)
	case "/remove":
		vm := c.machine(name)
		if vm == nil {
			http.NotFound(w, r)
			return
		}
		off := "poweredOff"
		c.apply(vm, change{Power: &off})
		ctx := c.model.Service.Context
		if fault := vm.UnregisterVM(ctx, &types.UnregisterVM{This: vm.Self}).Fault(); fault != nil {
			http.Error(w, fault.String, http.StatusInternalServerError)
		}
	case "/sessions":
		manager := c.model.Map().SessionManager()
		client := c.client(r.Context())
		var found mo.SessionManager
		check(client.RetrieveOne(r.Context(), manager.Self, []string{"sessionList"}, &found))
		if r.Method == http.MethodDelete {
			own, err := client.SessionManager.UserSession(r.Context())
			check(err)
			for _, one := range found.SessionList {
				if one.Key != own.Key {
					check(client.SessionManager.TerminateSession(r.Context(), []string{one.Key}))
				}
			}
		}
		// Without that of this request.
		fmt.Fprintln(w, len(found.SessionList)-1)
		check(client.Logout(r.Context()))
	case "/shared-session":
		if r.Header.Get("Authorization") != "Bearer "+sharedToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		client := c.client(r.Context())
		ticket, err := client.SessionManager.AcquireCloneTicket(r.Context())
		check(err)
		check(json.NewEncoder(w).Encode(map[string]string{"token": ticket}))
		check(client.Logout(r.Context()))
	default:
		http.NotFound(w, r)
	}
}

func (c *control) client(ctx context.Context) *govmomi.Client {
	location := *c.server.URL
	location.User = url.UserPassword(user, password)
	client, err := govmomi.NewClient(ctx, &location, true)
	check(err)
	return client
}

// tag gives each datacenter a region and each cluster a zone.
func (c *control) tag(ctx context.Context) {
	client := c.client(ctx)
	api := rest.NewClient(client.Client)
	check(api.Login(ctx, url.UserPassword(user, password)))
	manager := tags.NewManager(api)
	for category, kind := range map[string]string{"k8s-region": "Datacenter", "k8s-zone": "ClusterComputeResource"} {
		_, err := manager.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "SINGLE", AssociableTypes: []string{kind}})
		check(err)
		for _, entity := range c.model.Map().All(kind) {
			name := strings.ToLower(strings.ReplaceAll(entity.Entity().Name, "_", "-"))
			_, err := manager.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: category})
			check(err)
			check(manager.AttachTag(ctx, name, entity.Reference()))
		}
	}
	check(api.Logout(ctx))
	check(client.Logout(ctx))
}

func main() {
	model := simulator.VPX()
	listen := flag.String("listen", "127.0.0.1:0", "")
	controlAddress := flag.String("control", "127.0.0.1:0", "")
	useTLS := flag.Bool("tls", false, "")
	isTagged := flag.Bool("tags", false, "")
	flag.IntVar(&model.Datacenter, "dc", 1, "")
	flag.IntVar(&model.Cluster, "cluster", 1, "")
	flag.IntVar(&model.ClusterHost, "host", 3, "")
	flag.IntVar(&model.Machine, "vm", 4, "")
	flag.BoolVar(&model.Autostart, "autostart", true, "")
	flag.Parse()
	model.Host = 0
	check(model.Create())
	model.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword(user, password)}
	if *useTLS {
		model.Service.TLS = new(tls.Config)
	}
	model.Service.RegisterEndpoints = true
	server := model.Service.NewServer()
	c := &control{model, server}
	if *isTagged {
		c.tag(context.Background())
	}
	http.HandleFunc("/", c.serve)
	listener, err := net.Listen("tcp", *controlAddress)
	check(err)
	go func() { check(http.Serve(listener, nil)) }()
	started := map[string]string{
		"host": server.URL.Host, "control": "http://" + listener.Addr().String(), "user": user, "password": password,
	}
	if *useTLS {
		started["fingerprint"] = soap.ThumbprintSHA256(server.Certificate())
	}
	check(json.NewEncoder(os.Stdout).Encode(started))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	server.Close()
	model.Remove()
}
