// Rancher 1.6 in memory, for tests and development: an environment with hosts, stacks, load balancers and external services. It
// keeps state, and its time is the clock's:
//
//   const cloud = new RancherCloud({ clock: new VirtualClock() });
//   const { hosts, services, settings } = cloud.environment;
//   hosts.add("node-1", { ips: ["192.0.2.1"], labels: { zone: "a" } });
//   const transport = asTransport(cloud);          // the API is below /v2-beta; any host, any key
//
// A service goes through `registering`, `inactive`, `activating`, `active`; each state lasts for `services.time` (1 s). Actions are
// offered only in the states that permit them. States that are due end with the next request, or `cloud.settle()`.
//
//   hosts.purge(name, at); hosts.registerAgain(name, at); hosts.disconnect(name); hosts.reconnect(name);
//   hosts.add(name, { ips: [] }); hosts.add(name); hosts.add(name);   // no addresses; two hosts of a name
//   cloud.faults.add({ kind: "status", status: 500, operation: "GET /hosts" });   // kinds: `commonFaults`
//   cloud.withholdActivate(minutes(1));            // `activate` is not offered; ….withholdActivateForPolls(5)
//   services.obstacles.stick(name); ….release(name);   // stays in `removing`
//   services.obstacles.fail(name, text); ….repair(name);   // its activation ends with an error
//   services.obstacles.occupy(80);                 // load balancers with the port cannot start, with a message
//   services.endpointInterval = seconds(5);        // public endpoints arrive one by one
//   services.derivesLinks = false;                 // the links of a load balancer do not follow its rules
//   cloud.events.break(); ….isSilent = true; ….refusesWith = 404; ….publish("host", { uuid });   // the event socket
//   cloud.addKey("access", "secret"); cloud.revokeKeys();
//
// As in the server, published ports change with `launchConfig`, not with the rules, and a health check never changes.
//
// Simplified: there are no containers, stacks are active immediately, and every host can run a load balancer.

export { asSocket } from "./events.ts";
export { serveRancherCloud } from "./http.ts";
export { RancherCloud, type RancherOptions } from "./rancher-cloud.ts";
export type { Host, NewHost } from "./state/hosts.ts";
export type { PortRule, Service, ServiceFields } from "./state/service.ts";
