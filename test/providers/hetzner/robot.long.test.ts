// Dedicated servers from end to end: how their Nodes join, stop and go, and what happens while Robot fails.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

const shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown";

const worldOf = (options: HetznerWorldOptions = {}) => new HetznerWorld({ robot: "readable", ...options });
const reasonOf = (event: string) => event.split(" ")[1];
const withReason = (h: HetznerWorld, about: string, reason: string) =>
  h.world.events(about).filter((event) => reasonOf(event) === reason);
const robotRequests = (h: HetznerWorld) => h.requests.filter((request) => request.startsWith("robot "));
const addressesOf = (h: HetznerWorld, name: string) =>
  (h.node(name).status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
const taintsOf = (h: HetznerWorld, name: string) => (h.node(name).spec.taints ?? []).map(({ key }) => key);
const exists = (h: HetznerWorld, name: string) => h.nodes().some(({ metadata }) => metadata.name === name);

function setReady(h: HetznerWorld, name: string, status: "True" | "Unknown"): void {
  h.world.changeNode(name, (node) => ({
    ...node,
    status: { ...node.status, conditions: [{ type: "Ready", status }] },
  }));
}

test("initializes a dedicated server with the Go manager's addresses", async () => {
  const h = worldOf({ config: { "instances-address-family": "dualstack" } });
  await h.start("*");
  const internalIPs = ["10.0.1.7", "fd00::7"];
  const number = h.addRobotNode("metal-1", { providerID: null, internalIPs });
  await h.world.pass(5);
  expect(h.node("metal-1").spec).toEqual({ providerID: `hrobot://${number}` as never });
  expect(addressesOf(h, "metal-1")).toEqual([
    "Hostname metal-1",
    "ExternalIP 2001:db8:2:141::1",
    "ExternalIP 192.0.2.65",
    "InternalIP 10.0.1.7",
    "InternalIP fd00::7",
  ]);
  expect(h.world.events("metal-1").map(reasonOf)).toEqual(["Synced"]);
});

test.each([
  ["ipv4", ["10.0.1.7", "fd00::7", "192.0.2.65"], ["fd00::7", "192.0.2.65"]],
  ["ipv6", ["10.0.1.7", "fd00::7"], ["10.0.1.7"]],
] as const)(
  "keeps only the InternalIPs of family %s, and reports all other InternalIPs",
  async (family, reported, lost) => {
    const h = worldOf({ config: { "instances-address-family": family } });
    await h.start("*");
    h.addRobotNode("metal-1", { providerID: null, internalIPs: reported });
    await h.world.pass(5);
    const kept = addressesOf(h, "metal-1").filter((text) => text.startsWith("InternalIP"));
    expect(kept).toEqual(
      reported.filter((ip) => !lost.includes(ip as never)).map((ip) => `InternalIP ${ip}`),
    );
    const named = withReason(h, "metal-1", "MisconfiguredInternalIP");
    expect(named.map((event) => /InternalIP (\S+), because/.exec(event)?.[1] ?? event)).toEqual([...lost]);
  },
);

test("initializes no Node whose name both a cloud server and a dedicated server have", async () => {
  const h = worldOf();
  const { id } = h.addServer("twin");
  await h.start("*");
  const number = h.addRobotNode("twin", { providerID: null });
  await h.world.pass(60);
  expect(h.node("twin").spec.providerID).toBeUndefined();
  const [event] = withReason(h, "twin", "AmbiguousMatch");
  expect(event).toContain(`hcloud://${id} (twin) in cloud, hrobot://${number} (twin) in robot`);
});

test("deletes the Node of a renamed server only after a listing and a lookup have confirmed the new name", async () => {
  const h = worldOf({ nodes: 3 });
  const number = h.addRobotNode("metal-1");
  setReady(h, "metal-1", "True");
  await h.start("*");
  await h.world.pass(60);
  h.cloud.project.robot.change(number, { name: "other-cluster-1" });
  await h.world.pass(1800);
  expect(withReason(h, "metal-1", "PossibleNodeDeletion").join()).toContain(
    `Instance hrobot://${number} has the name "other-cluster-1", not "metal-1"`,
  );
  h.forget();
  setReady(h, "metal-1", "Unknown");
  await h.world.pass(15);
  expect(exists(h, "metal-1")).toBe(true);
  await h.world.until(() => !exists(h, "metal-1"), "the Node is deleted", 300);
  expect(robotRequests(h)).toContain("robot GET /server");
  expect(robotRequests(h)).toContain("robot GET /server/{id}");
});

test("taints the Node of a server that is switched off, and removes the taint when it runs again", async () => {
  const h = worldOf();
  const number = h.addRobotNode("metal-1");
  setReady(h, "metal-1", "Unknown");
  h.cloud.project.robot.change(number, { isOff: true });
  await h.start("*");
  await h.world.pass(120);
  expect(taintsOf(h, "metal-1")).toEqual([shutdownTaint]);
  h.cloud.project.robot.change(number, { isOff: false });
  await h.world.pass(600);
  expect(taintsOf(h, "metal-1")).toEqual([]);
});

test("keeps the Node of a model without remote reset, and sets no shutdown taint", async () => {
  const h = worldOf();
  const number = h.addRobotNode("metal-1");
  h.cloud.project.robot.change(number, { isOff: true });
  setReady(h, "metal-1", "Unknown");
  const noReset = { kind: "status", status: 404, code: "RESET_NOT_AVAILABLE" } as const;
  h.cloud.faults.add({ ...noReset, operation: "robot GET /reset/{id}", calls: 1000 });
  await h.start("*");
  await h.world.pass(3600);
  expect(robotRequests(h)).toContain("robot GET /reset/{id}");
  expect([exists(h, "metal-1"), taintsOf(h, "metal-1")]).toEqual([true, []]);
});

test("keeps provider ids in the form of older versions, and the Nodes while their servers exist", async () => {
  const h = worldOf({ nodes: 3 });
  const number = h.addRobotNode("metal-1", { providerID: "hcloud://bm-321" });
  setReady(h, "metal-1", "Unknown");
  await h.start("*");
  h.world.create("web");
  await h.world.pass(1800);
  expect(h.node("metal-1").spec.providerID).toBe("hcloud://bm-321" as never);
  expect(addressesOf(h, "metal-1")).toContain("ExternalIP 192.0.2.65");
  expect(ipTargetsOf(h)).toEqual(["192.0.2.65"]);
  h.cloud.project.robot.remove(number);
  await h.world.until(() => !exists(h, "metal-1"), "the Node is deleted", 900);
});

test("sends no request to Robot while its rate limit is exhausted, and manages cloud servers", async () => {
  const h = worldOf({ nodes: 1, config: { "robot-rate-limit-wait-time": "10m" } });
  h.addRobotNode("metal-1");
  await h.start("*", "--node-match-timeout=1m");
  await h.world.pass(60);
  h.forget();
  h.cloud.robot.requestsPerHour = 0;
  setReady(h, "metal-1", "Unknown");
  await h.world.pass(30);
  expect(h.cloud.seen.filter(({ status }) => status === 403)).toHaveLength(1);
  h.forget();
  h.joinNode("web-1");
  await h.world.pass(540);
  expect(robotRequests(h)).toEqual([]);
  expect(h.node("web-1").spec.providerID).toMatch(/^hcloud:/);
  expect([exists(h, "metal-1"), taintsOf(h, "metal-1")]).toEqual([true, []]);
  h.cloud.robot.requestsPerHour = 200;
  await h.world.pass(120);
  expect(robotRequests(h).length).toBeGreaterThan(0);
});

test("reports once that a joining Node waits for Robot's rate limit", async () => {
  const h = worldOf();
  await h.start("*");
  await h.world.pass(60);
  h.cloud.robot.requestsPerHour = 0;
  h.joinNode("web-1");
  await h.world.pass(240);
  expect(withReason(h, "web-1", "UnconfirmedMatch")).toHaveLength(1);
  h.cloud.robot.requestsPerHour = 200;
  await h.world.pass(240);
  expect(h.uninitialized).toBe(0);
});

test("does not log in to Robot repeatedly with a rejected password", async () => {
  const h = worldOf({ nodes: 1, config: { "robot-password": "wrong" } });
  h.addRobotNode("metal");
  await h.start("*");
  await h.world.pass(600);
  // Robot blocks an address after too many failed logins.
  expect(robotRequests(h).length).toBeLessThanOrEqual(8);
  h.forget();
  await h.world.pass(3600);
  expect(robotRequests(h).length).toBeLessThanOrEqual(12);
});

test("reports that Robot rejects the password, and manages cloud servers", async () => {
  const h = worldOf({ nodes: 1, config: { "robot-password": "wrong" } });
  await h.start("*", "--node-match-timeout=2m");
  h.joinNode("web-1");
  h.addRobotNode("metal-1", { providerID: null });
  await h.world.pass(30);
  expect(withReason(h, "metal-1", "CloudAuthFailed").join()).toContain(
    "robot-password is set by --config-set",
  );
  expect(withReason(h, "web-1", "UnconfirmedMatch").join()).toContain(
    "robot-password is set by --config-set",
  );
  await h.world.pass(120);
  expect(h.node("web-1").spec.providerID).toMatch(/^hcloud:/);
  expect(withReason(h, "web-1", "UnconfirmedMatchUsed")).toHaveLength(1);
});

test("keeps all Nodes while Robot fails for an hour, and joining Nodes wait until Robot responds", async () => {
  const h = worldOf({ nodes: 3 });
  h.addRobotNode("metal-1");
  setReady(h, "metal-1", "Unknown");
  await h.start("*");
  await h.world.pass(60);
  h.cloud.faults.add({ kind: "refused", operation: "robot GET /server", calls: 10_000 });
  h.cloud.faults.add({ kind: "refused", operation: "robot GET /server/{id}", calls: 10_000 });
  h.joinNode("web-1");
  await h.world.pass(3600);
  expect(h.nodes()).toHaveLength(5);
  expect(h.uninitialized).toBe(1);
  expect(withReason(h, "web-1", "UnconfirmedMatch").join()).toContain(
    "To limit this wait, set --node-match-timeout, or set --provider-id on the kubelet.",
  );
  h.cloud.faults.clear();
  await h.world.pass(300);
  expect(h.uninitialized).toBe(0);
});

test("initializes cloud servers when the account has no dedicated servers", async () => {
  const h = worldOf();
  await h.start("*");
  h.joinNode("web-1");
  await h.world.pass(5);
  expect(h.uninitialized).toBe(0);
});

test("does not interpret a proxy's 404 as an account without dedicated servers", async () => {
  const h = worldOf({ nodes: 3 });
  h.addRobotNode("metal-1");
  setReady(h, "metal-1", "Unknown");
  h.cloud.faults.add({ kind: "page", status: 404, operation: "robot GET /server", calls: 10_000 });
  h.cloud.faults.add({ kind: "page", status: 404, operation: "robot GET /server/{id}", calls: 10_000 });
  await h.start("*");
  await h.world.pass(3600);
  expect(exists(h, "metal-1")).toBe(true);
});

const usePrivateIP = "load-balancer.hetzner.cloud/use-private-ip";
const ipTargetsOf = (h: HetznerWorld) =>
  h.cloud.project.balancers
    .list()
    .flatMap(({ targets }) => targets.flatMap((target) => (target.type === "ip" ? target.ip : [])));

test("reaches dedicated servers by their public address, or by their InternalIP on request", async () => {
  const h = worldOf({ nodes: 1, hasNetwork: true });
  h.addRobotNode("metal-1", { internalIPs: ["10.0.1.7"] });
  h.addRobotNode("metal-2");
  await h.start("*");
  h.world.create("web");
  await h.world.pass(60);
  expect(ipTargetsOf(h)).toEqual(["192.0.2.65", "192.0.2.66"]);
  h.world.annotate("web", { [usePrivateIP]: "true" });
  await h.world.pass(120);
  expect(ipTargetsOf(h).toSorted()).toEqual(["10.0.1.7", "192.0.2.66"]);
  expect(withReason(h, "web", "InternalIPNotConfigured").join()).toContain(
    "no InternalIP: metal-2. They are",
  );
  h.world.annotate("web", { [usePrivateIP]: "false" });
  await h.world.pass(120);
  expect(ipTargetsOf(h).toSorted()).toEqual(["192.0.2.65", "192.0.2.66"]);
});

test.each(["ipv4", "ipv6"])(
  "keeps targets after a restart while Robot fails, with family %s",
  async (family) => {
    const h = worldOf({ nodes: 1, config: { "instances-address-family": family } });
    h.addRobotNode("metal-1");
    await h.start("*");
    h.world.create("web");
    await h.world.pass(60);
    expect(ipTargetsOf(h)).toEqual(["192.0.2.65"]);
    await h.world.stop();
    h.cloud.faults.add({ kind: "status", operation: "robot GET /server", calls: 10_000 });
    h.forget();
    await h.start("*");
    h.world.create("new");
    await h.world.pass(600);
    expect(h.requests.filter((request) => request.includes("remove_target"))).toEqual([]);
    const isKnown = family === "ipv4";
    expect(ipTargetsOf(h)).toHaveLength(isKnown ? 2 : 1);
    expect(withReason(h, "new", "RobotAddressUnknown")).toHaveLength(isKnown ? 0 : 1);
    h.cloud.faults.clear();
    await h.world.pass(900);
    expect(ipTargetsOf(h)).toEqual(["192.0.2.65", "192.0.2.65"]);
  },
);

function worldOf50(): HetznerWorld {
  const h = worldOf({ nodes: 1 });
  for (let index = 0; index < 50; index += 1) {
    h.addRobotNode(`metal-${index}`);
    setReady(h, `metal-${index}`, "True");
  }
  return h;
}
const refused = (h: HetznerWorld) => h.cloud.seen.filter(({ status }) => status === 403).length;

test("sends Robot at most 12 requests per hour about 50 dedicated servers that are Ready", async () => {
  const h = worldOf50();
  await h.start("*");
  await h.world.pass(60);
  h.forget();
  await h.world.pass(3600);
  expect(robotRequests(h).length).toBeLessThanOrEqual(12);
});

test.if(runsAllTests)(
  "stays below the rate limit of Robot while 50 dedicated servers are not Ready",
  async () => {
    const h = worldOf50();
    await h.start("*");
    await h.world.pass(60);
    h.forget();
    for (let index = 0; index < 50; index += 1) setReady(h, `metal-${index}`, "Unknown");
    await h.world.pass(3 * 3600);
    expect(refused(h)).toBe(0);
    const counts = h.cloud.counts();
    expect(counts["robot GET /server/{id}"] ?? 0).toBeGreaterThanOrEqual(3 * 50);
    expect(counts["robot GET /server/{id}"] ?? 0).toBeLessThanOrEqual(50 + 3 * 100);
  },
);

test.if(runsAllTests)(
  "stays below the rate limit of Robot while a cloud server joins every 10 seconds",
  async () => {
    const h = worldOf();
    await h.start("*");
    for (let index = 0; index < 360; index += 1) {
      h.joinNode(`web-${index}`);
      await h.world.pass(10);
    }
    expect([refused(h), robotRequests(h).length <= 17 + 100]).toEqual([0, true]);
    await h.world.pass(60);
    expect(h.uninitialized).toBe(0);
  },
);
