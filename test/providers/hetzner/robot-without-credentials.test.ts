// Dedicated servers while Robot has no credentials: other tools manage their Nodes, and load balancers reach them.

import { expect, test } from "bun:test";
import { HetznerWorld } from "./hetzner-world.ts";

const usePrivateIP = "load-balancer.hetzner.cloud/use-private-ip";

const worldOf = () => new HetznerWorld({ nodes: 1, robot: "unreadable", hasNetwork: true });
const ipTargetsOf = (h: HetznerWorld) =>
  h.cloud.project.balancers
    .list()
    .flatMap(({ targets }) => targets.flatMap((target) => (target.type === "ip" ? target.ip : [])));
const robotRequests = (h: HetznerWorld) => h.requests.filter((request) => request.startsWith("robot "));
const withReason = (h: HetznerWorld, about: string, reason: string) =>
  h.world.events(about).filter((event) => event.split(" ")[1] === reason);

test("reaches dedicated servers by their InternalIP when Robot has no credentials", async () => {
  const h = worldOf();
  h.addRobotNode("metal-1", { internalIPs: ["10.0.1.7", "10.0.1.8"] });
  h.addRobotNode("metal-2", { internalIPs: ["10.0.1.9"], providerID: "hcloud://bm-322" });
  await h.start("*");
  h.world.create("web", { annotations: { [usePrivateIP]: "true" } });
  await h.world.pass(120);
  expect(ipTargetsOf(h)).toEqual(["10.0.1.7", "10.0.1.9"]);
  expect(withReason(h, "web", "EnsuredLoadBalancer")).toHaveLength(1);
  expect(robotRequests(h)).toEqual([]);
});

test("reports the dedicated servers that are not targets because Robot has no credentials", async () => {
  const h = worldOf();
  h.addRobotNode("metal-1");
  await h.start("*");
  h.world.create("web", { annotations: { [usePrivateIP]: "true" } });
  await h.world.pass(120);
  expect(ipTargetsOf(h)).toEqual([]);
  expect(withReason(h, "web", "InternalIPNotConfigured")).toEqual([
    "Warning InternalIPNotConfigured The private network is requested, but these dedicated servers have no InternalIP: metal-1. They are not targets, because their public addresses are unknown without ROBOT_USER and ROBOT_PASSWORD. Start their kubelets with --node-ip.",
  ]);
  h.world.annotate("web", { [usePrivateIP]: "false" });
  await h.world.pass(120);
  expect(ipTargetsOf(h)).toEqual([]);
  expect(withReason(h, "web", "TargetsUnreachable").join()).toContain(
    "the public addresses of dedicated servers are unknown without ROBOT_USER and ROBOT_PASSWORD, and use-private-ip is off (metal-1)",
  );
});

test("changes no Node of a dedicated server when Robot has no credentials", async () => {
  const h = worldOf();
  h.addRobotNode("metal-1", { internalIPs: ["10.0.1.7"] });
  h.addRobotNode("metal-2", { internalIPs: ["10.0.1.9"], providerID: "hcloud://bm-322" });
  for (const { number } of h.cloud.project.robot.list()) h.cloud.project.robot.remove(number);
  const before = [h.node("metal-1"), h.node("metal-2")];
  await h.start("*");
  await h.world.pass(3600);
  expect([h.node("metal-1"), h.node("metal-2")]).toEqual(before);
  expect(h.world.events("metal-1")).toEqual([
    "Normal InstanceUnreadable Provider ID hrobot://321 is of source robot, to which the cloud settings give no access. Fairlead does not initialize, update or delete the Node, and creates no routes to it. It is a load balancer target.",
  ]);
  expect(withReason(h, "metal-2", "InstanceUnreadable")).toHaveLength(1);
});

test("initializes cloud servers without a request to Robot when Robot has no credentials", async () => {
  const h = worldOf();
  await h.start("*");
  h.joinNode("web-1");
  await h.world.pass(5);
  expect(h.node("web-1").spec.providerID).toMatch(/^hcloud:\/\/\d+$/);
  expect(h.uninitialized).toBe(0);
});
