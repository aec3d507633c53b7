// A vCenter in memory, for tests and development. It keeps state, and its time is the clock's:
//
//   const clock = new VirtualClock();
//   const cloud = new VSphereCloud({ clock });
//   const { inventory } = cloud;
//   inventory.addDatacenter("DC0");                                        // a cluster, its pool, hosts and folders
//   inventory.addMachine("node-1");                                        // UUID, host name, network interface …
//   inventory.powerOff("node-1");  inventory.remove("node-1");
//   inventory.change("node-1", { connection: "inaccessible", uuid: undefined });
//   inventory.hidden.add(inventory.existing("node-1").ref.value);          // the user may not see it
//   const transport = asTransport(cloud);                                  // any host
//
//   cloud.addUser("user", "password");                                     // without any, every login is valid
//   cloud.restart();                                                       // all sessions end
//   cloud.faults.add({ kind: "status", code: "NotAuthenticated", operation: "RetrievePropertiesEx" });
//   cloud.faults.hide({ resource: "node-1", from: "listings", milliseconds: 60_000 });
//   cloud.counts(); cloud.seen; cloud.forget();                            // what was requested
//
// Simplified: methods that the provider does not call are missing, a view has no container, and all objects below a hidden one are hidden.

export type { Datacenter, GuestNic, Machine } from "./state/inventory.ts";
export { VSphereCloud, type VSphereOptions } from "./vsphere-cloud.ts";
