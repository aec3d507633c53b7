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
//   cloud.keystone.revokeTokens();                                         // the next request is a 401
//   cloud.faults.add({ kind: "status", status: 500, operation: "GET /compute/v2.1/servers/detail" });
//   cloud.counts(); cloud.mutations; cloud.seen; cloud.forget();           // what was requested

export { OpenStackCloud, type OpenStackOptions } from "./openstack-cloud.ts";
export { addServer, removeServer } from "./state/servers.ts";
