// DigitalOcean in memory, for tests and development. It keeps state, and its time is the clock's:
//
//   const clock = new VirtualClock();
//   const cloud = new DigitalOceanCloud({ clock });
//   const { droplets, balancers } = cloud.account;
//   const droplet = droplets.add("node-1", { region: "nyc3" });            // networks, id, tags …
//   droplets.change(droplet.id, { status: "off" });  droplets.remove("node-1");
//   balancers.add("by-hand", { tags: ["k8s:other"] });                     // active immediately
//   const transport = asTransport(cloud);                                  // any host
//
// A new load balancer is `new`, without addresses, for `times.activation` (a minute). For `times.change` (2 s) after a change, it
// rejects others with 403. Due work is completed with the next request, or by `cloud.settle()`.
//
//   cloud.faults.add({ kind: "status", status: 500, operation: "GET /v2/droplets" });  // kinds: common and lies of listings
//   cloud.faults.hide({ resource: "node-1", from: "listings", milliseconds: 60_000 });
//   cloud.account.droplets.lag = seconds(5);                               // listings show an older state
//   cloud.hourly.drain();                                                  // the next request is a 429
//   cloud.tokens.add("token"); cloud.tokens.revoke("token");               // without any, every token is valid
//   cloud.counts(); cloud.mutations; cloud.seen; cloud.forget();           // what was requested
//
// An action of a volume is in progress for `times.change`, and its volume and droplet refuse others until then.
//
// Simplified: sizes, images and prices are examples, and most validation error texts are invented.

export { DigitalOceanCloud, type DigitalOceanOptions } from "./digitalocean-cloud.ts";
export type { Balancer, ForwardingRule } from "./state/balancers.ts";
export type { Droplet, NewDroplet } from "./state/droplets.ts";
export type { Volume } from "./state/volumes.ts";
