// OpenStack in memory, for tests and development: one project, with Keystone, Nova, Neutron and Octavia under one address. It keeps
// state, and its time is the clock's:
//
//   const clock = new VirtualClock();
//   const cloud = new OpenStackCloud({ clock });
//   cloud.keystone.applicationCredentials.set("id", "secret");             // or passwords.set("user", "password")
//   addServer(cloud.project, "node-1");                                    // a port in the network "nodes"
//   cloud.project.servers.change("node-1", { status: "SHUTOFF" });
//   removeServer(cloud.project, "node-1");
//   const transport = asTransport(cloud);                                  // any host; services are below /identity, /compute …
//
//   addExternalNetwork(cloud.project);                                     // floating IPs come from there
//   cloud.balancing.failures = 1;                                          // the next load balancer becomes ERROR
//   cloud.balancing.limit = 0;  cloud.project.subnets.change("public-1", { isFull: true });
//
//   cloud.keystone.revokeTokens();                                         // the next request is a 401
//   cloud.faults.add({ kind: "status", status: 500, operation: "GET /compute/v2.1/servers/detail" });
//   cloud.counts(); cloud.mutations; cloud.seen; cloud.forget();           // what was requested
//
//   cloud.keystone.others.push({ region: "RegionTwo", origin: "http://two.example" });   // or with a project
//   const other = new OpenStackCloud({ clock, keystone: cloud.keystone });               // serves that origin
//
// A load balancer is PENDING for `times.balancer` (3 s) after each change, and refuses others with 409 then. Simplified: quotas of Neutron,
// policies, flavors and availability zones, Barbican, and the protocols that a pool may have.

export { OpenStackCloud, type OpenStackOptions } from "./openstack-cloud.ts";
export { addExternalNetwork, addPort, addRouter, addSubnet, ensureSubnet } from "./state/network.ts";
export { addServer, removeServer } from "./state/servers.ts";
