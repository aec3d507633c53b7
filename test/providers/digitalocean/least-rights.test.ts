// A whole manager with exactly the permissions of the Go manager's ClusterRole.

import { expect, test } from "bun:test";
import { GrantedRole } from "../../support/granted-role.ts";
import { DigitalOceanWorld, prefix, quick, tcpPort } from "./digitalocean-world.ts";

/** In the manifests of the Go manager 0.1.71. */
const goManager = {
  "/endpoints": ["create", "get", "list", "update", "watch"],
  "/events": ["create", "patch", "update"],
  "/nodes": ["*"],
  "/nodes/status": ["patch"],
  "/persistentvolumes": ["get", "list", "update", "watch"],
  "/serviceaccounts": ["create"],
  "/services": ["list", "patch", "update", "watch"],
  "/services/status": ["list", "patch", "update", "watch"],
  "coordination.k8s.io/leases": ["create", "delete", "get", "list", "update", "watch"],
};

const controllers = "cloud-node,cloud-node-lifecycle,service";

test("manages Nodes and Services of DigitalOcean with the ClusterRole of the Go manager [S6 F79]", async () => {
  const role = new GrantedRole(goManager);
  const w = new DigitalOceanWorld({ ...quick, authorize: role.authorize });
  for (const name of ["a", "b", "c"]) w.joinNode(name);
  await w.start(controllers, "--leader-elect=true");
  await w.world.until(() => w.uninitialized === 0, "the Nodes", 120);

  w.world.create("web", { spec: { ports: [tcpPort(30_080)] } });
  await w.world.until(() => w.world.addressesOf("web").length > 0, "an address", 120);
  w.world.annotate("web", { [`${prefix}size-unit`]: "2" });
  await w.world.until(() => w.balancers()[0]?.size_unit === 2, "the change", 120);

  w.cloud.account.droplets.remove("c");
  w.world.setReady("c", "Unknown");
  await w.world.until(() => w.nodes().length === 2, "the deletion of a Node", 600);

  // The next process takes over the Lease.
  await w.world.stop();
  await w.start(controllers, "--leader-elect=true");
  w.world.delete("web");
  await w.world.until(() => w.world.find("web") === undefined, "the deletion of the Service", 120);
  expect(w.balancers()).toEqual([]);

  expect(w.world.events("web").join("\n")).toContain("EnsuredLoadBalancer");
  expect(w.world.unexpectedErrors).toEqual([]);
  // Fairlead needs one permission more than that manager: the uid of the cluster.
  expect(role.refused).toEqual(["get namespaces"]);
  expect(role.allowed).toEqual([
    "create events",
    "create leases",
    "delete nodes",
    "get leases",
    "patch events",
    "patch nodes",
    "patch nodes/status",
    "patch services",
    "patch services/status",
    "update leases",
    "watch leases",
    "watch nodes",
    "watch services",
  ]);
});
