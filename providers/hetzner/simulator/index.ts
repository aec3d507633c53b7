// Hetzner Cloud and Robot in memory, for tests and development. It keeps state, and its time is the clock's:
//
//   const clock = new VirtualClock();
//   const cloud = new HetznerCloud({ clock });
//   const { servers, networks, balancers, certificates, volumes, robot, actions } = cloud.project;
//   const net = networks.add("net");                                        // 10.0.0.0/8, subnet 10.0.0.0/16
//   const server = servers.add("node-1", { networks: [{ network: net.id }] });  // server.privateNets[0].ip
//   const transport = asTransport(cloud);   // URLs below /v1 are the cloud's, all others Robot's; any host
//
// Changes over the API start an action: it ends after `actions.time` (1 s) of the clock, changes the resource only then, and
// locks it until then (423 `locked`; 409 `conflict` for networks). Due actions end with the next request, or `cloud.settle()`.
// Helpers of `project` change the state immediately: `servers.powerOff(name)`, `servers.rebuild(name)` (new id), `servers.remove`,
// `servers.attach`, `servers.detach`, `balancers.add`, `networks.change(id, { routes })`, `robot.add`.
//
//   cloud.faults.add({ kind: "status", status: 500, operation: "GET /servers" });   // kinds: hetzner-cloud.ts
//   cloud.faults.hide({ resource: "node-1", from: "listings", milliseconds: 60_000 });
//   cloud.project.servers.lag = seconds(5);                                 // listings show an older state
//   actions.plan({ outcome: "fails", command: "add_target" });              // or "hangs", "vanishes"
//   cloud.rateLimit.drain();                                                // the next request is a 429
//   cloud.tokens.add("token"); cloud.tokens.revoke("token");                // without any, every token is valid
//   cloud.counts(); cloud.mutations; cloud.seen; cloud.forget();            // what was requested
//
// The API's behavior in October 2026: servers have no `datacenter`; deleting a load balancer returns an action, and the load balancer exists until
// that ends; a change with a token for reading is 403 `forbidden`. A new load balancer has no addresses until its action ends.
//
// Simplified: prices and traffic are examples, there are no images, and uploaded certificates in tests contain no real PEM.

export { type ErrorCode, errorStatuses } from "./base/answer.ts";
export {
  HetznerCloud,
  type HetznerOptions,
} from "./hetzner-cloud.ts";
export type { RobotServer } from "./robot.ts";
export type { ActionView, PlannedOutcome } from "./state/actions.ts";
export type { Balancer, HealthCheck, HttpOptions, Service, Target } from "./state/balancers.ts";
export type { Certificate } from "./state/certificates.ts";
export { type Network, type Subnet, subnetOf } from "./state/networks.ts";
export type { NewServer, Server, ServerStatus } from "./state/servers.ts";
