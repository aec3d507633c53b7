// A whole manager with exactly the permissions of the Go manager's ClusterRole.

import { expect, test } from "bun:test";
import { GrantedRole } from "../../support/granted-role.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const read = ["get", "list", "watch"];

/** In the manifests of the Go manager 1.35.0. */
const goManager = {
  "/configmaps": read,
  "/events": ["create", "patch", "update"],
  "/nodes": ["*"],
  "/nodes/status": ["patch"],
  "/services": ["list", "watch"],
  "/services/status": ["patch", "update"],
  "/serviceaccounts": ["create"],
  "coordination.k8s.io/leases": [...read, "create", "update"],
};

function openWorld() {
  const role = new GrantedRole(goManager);
  return { h: new HetznerWorld({ hasNetwork: true, authorize: role.authorize }), role };
}

const flags = ["--leader-elect=true", "--cluster-cidr=10.244.0.0/16", "--allocate-node-cidrs=true"];
const controllers = "cloud-node,cloud-node-lifecycle,service,route";
const draft = { spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] } };
const routesOf = (h: HetznerWorld) => h.cloud.project.networks.existing(h.networkID).routes;
const targetsOf = (h: HetznerWorld) => h.cloud.project.balancers.list().map(({ targets }) => targets.length);

test("manages Nodes, Services and routes of Hetzner with the ClusterRole of the Go manager [S6 F79]", async () => {
  const { h, role } = openWorld();
  for (const name of ["a", "b", "c", "d"]) h.joinNode(name);
  await h.start(controllers, ...flags);
  await h.world.until(() => h.uninitialized === 0 && routesOf(h).length === 4, "Nodes and routes", 120);

  h.world.create("web", draft);
  await h.world.until(() => h.world.addressesOf("web").length > 0, "an address");
  expect(h.world.get("web").metadata.finalizers).toEqual(["service.kubernetes.io/load-balancer-cleanup"]);
  h.world.annotate("web", { "load-balancer.hetzner.cloud/type": "lb21" });
  await h.world.until(() => h.cloud.project.balancers.list()[0]?.type === "lb21", "the change");

  h.cloud.project.servers.remove("d");
  h.world.setReady("d", "Unknown");
  await h.world.until(() => h.nodes().length === 3, "the deletion of a Node", 600);
  await h.world.until(() => routesOf(h).length === 3, "the deletion of its route", 600);
  expect(targetsOf(h)).toEqual([3]);

  // The next process takes over the Lease.
  await h.world.stop();
  await h.start(controllers, ...flags);
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion of the Service");
  expect(targetsOf(h)).toEqual([]);

  expect(h.world.events("web").join("\n")).toContain("EnsuredLoadBalancer");
  expect(h.world.unexpectedErrors).toEqual([]);
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
    "patch services/status",
    "update leases",
    "watch leases",
    "watch nodes",
    "watch services",
  ]);
});

test("names the missing permission for EndpointSlices, and uses all Nodes as targets [S6 F43]", async () => {
  const { h, role } = openWorld();
  h.addNode("a");
  h.addNode("b");
  await h.start("service", ...flags, "--load-balancer-targets=endpoints");
  h.world.create("web", draft);
  await h.world.until(() => h.world.addressesOf("web").length > 0, "an address");
  expect(targetsOf(h)).toEqual([2]);
  expect(role.refused).toEqual(["get namespaces", "list endpointslices", "watch endpointslices"]);
  expect(h.world.logged.join("")).toContain("endpointslices");
});
