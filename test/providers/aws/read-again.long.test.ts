// After a change of an existing load balancer, only the affected parts are read, without a full listing.

import { expect, test } from "bun:test";
import { prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import { type BalancerWorld, draft, network, served, tcpPort } from "./balancer-world.ts";

const requests = (h: BalancerWorld): readonly string[] =>
  h.cloud.seen.map(({ operation }) => operation.split(":")[1] ?? "");

/** The requests since the first change. */
const sinceChange = (h: BalancerWorld): readonly string[] =>
  requests(h).slice(h.cloud.seen.findIndex(({ mutates }) => mutates));

function annotate(h: BalancerWorld, annotations: Readonly<Record<string, string>>): void {
  const named = Object.entries(annotations).map(([name, value]) => [prefix + name, value]);
  h.world.edit("web", ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...Object.fromEntries(named) } },
  }));
}

const attributes = ["ModifyLoadBalancerAttributes", "DescribeLoadBalancerAttributes"] as const;

test.each([
  ["classic", "connection-idle-timeout", "90", attributes],
  ["classic", "healthcheck-interval", "20", ["ConfigureHealthCheck", "DescribeLoadBalancers"]],
  [
    "classic",
    "proxy-protocol",
    "*",
    ["CreateLoadBalancerPolicy", "SetLoadBalancerPoliciesForBackendServer", "DescribeLoadBalancers"],
  ],
  ["network", "cross-zone-load-balancing-enabled", "true", attributes],
  [
    "network",
    "healthcheck-healthy-threshold",
    "5",
    ["ModifyTargetGroup", "DescribeTargetGroups", "DescribeListeners"],
  ],
] as const)(
  "changes a %s load balancer once when it gets %s=%s, and rereads only the changed parts",
  async (kind, name, value, expected) => {
    const h = await served(kind === "network" ? network : {});
    annotate(h, { [name]: value });
    await h.settle(30);
    expect(sinceChange(h)).toEqual([...expected]);
  },
);

/** Acts once, as soon as AWS has accepted this action. */
function after(h: BalancerWorld, action: string, happens: () => void): void {
  let isDone = false;
  h.world.onCrossing = (_, when) => {
    if (when !== "after" || isDone || requests(h).at(-1) !== action) return;
    isDone = true;
    happens();
  };
}

test("sends a change of targets again when AWS has accepted and lost it", async () => {
  const h = await served();
  const [classic] = h.cloud.account.classic.all();
  const before = classic?.instances ?? [];
  after(h, "DeregisterInstancesFromLoadBalancer", () => {
    if (classic !== undefined) classic.instances = before;
  });
  h.world.removeNode("node-0");
  await h.settle();
  expect(h.changes).toEqual(Array(2).fill("DeregisterInstancesFromLoadBalancer"));
  expect(classic?.instances).toHaveLength(1);
});

test("recreates a load balancer that is deleted in AWS between a change and its check", async () => {
  const h = await served();
  after(h, "DeregisterInstancesFromLoadBalancer", () =>
    h.cloud.account.classic.answer("DeleteLoadBalancer", { LoadBalancerName: h.nameOf() }),
  );
  h.world.removeNode("node-0");
  await h.settle(300);
  const all = h.cloud.account.classic.all().map(({ name, instances }) => [name, instances.length]);
  expect(all).toEqual([[h.nameOf(), 1]]);
});

test("removes a target without an error when AWS has removed the target together with its instance", async () => {
  const h = await served({}, { nodes: 3 });
  const [classic] = h.cloud.account.classic.all();
  const [gone = ""] = classic?.instances ?? [];
  h.cloud.account.terminate(gone);
  if (classic !== undefined) classic.instances = classic.instances.filter((id) => id !== gone);
  h.world.removeNode("node-0");
  await h.settle();
  expect(classic?.instances).toHaveLength(2);
  expect(h.said()).not.toContain("InvalidInstance");
});

test.each([
  ["classic", {}],
  ["network", network],
] as const)(
  "opens both ports of a %s load balancer to a Node that joins after a port was added",
  async (_, annotations) => {
    const h = await served(annotations);
    h.world.edit("web", (one) => ({
      ...one,
      spec: { ...one.spec, ports: [tcpPort(80), tcpPort(81)] as never },
    }));
    await h.settle(20);
    h.addNode("node-9");
    await h.settle(600);
    const { classic, network: networks } = h.cloud.account;
    const sizes = [
      ...classic.all().map(({ instances }) => instances.length),
      ...networks.targetGroups().map(({ targets }) => targets.length),
    ];
    expect(new Set(sizes)).toEqual(new Set([3]));
  },
);

test("the next edit of the Service restores a rule that a user removed from a Node's security group", async () => {
  const h = await served();
  const rules = h.rules();
  await h.settle(60);
  h.cloud.account.groups.change(h.group, { rules: [] });
  h.forget();
  annotate(h, { "connection-idle-timeout": "90" });
  await h.settle(20);
  expect(h.rules()).toEqual(rules);
  expect(requests(h)).not.toContain("DescribeTags");
});

test("does not read a load balancer in depth when a listing shows it unchanged", async () => {
  const h = await served(network);
  h.world.create("other", draft({}, [tcpPort(80, 30_200)]));
  await h.settle();
  const all = h.cloud.seen.map(({ operation }) => operation);
  expect(all.filter((one) => one === "elbv2:DescribeListeners")).toEqual([]);
  expect(all.filter((one) => one === "elb:DescribeLoadBalancerAttributes")).toHaveLength(1);
});

test("registers deregistered targets again within 90 minutes, without another change", async () => {
  const h = await served(network);
  const [group] = h.cloud.account.network.targetGroups();
  if (group !== undefined) group.targets = [];
  await h.settle(90 * 60);
  expect(group?.targets).toHaveLength(2);
  expect(h.changes).toEqual(["RegisterTargets"]);
});

const old = 10 * 60;

test.each([
  ["classic", {}, ["DescribeTags", "DescribeLoadBalancers", "DeregisterInstancesFromLoadBalancer"]],
  ["network", network, ["DescribeTags", "DescribeTargetHealth", "DeregisterTargets"]],
] as const)(
  "reads only the targets when a Node of a %s load balancer leaves and the listing is old",
  async (_, annotations, expected) => {
    const h = await served(annotations);
    await h.settle(old);
    h.forget();
    h.world.removeNode("node-0");
    await h.settle(20);
    const own = requests(h).filter((one) => !/Subnets|RouteTables|Instances$/.test(one));
    expect(own.slice(0, 3)).toEqual([...expected]);
    expect(requests(h)).not.toContain("DescribeSecurityGroups");
  },
);

test("does not change a load balancer that has lost its tags since an old listing", async () => {
  const h = await served();
  await h.settle(old);
  const [classic] = h.cloud.account.classic.all();
  classic?.tags.clear();
  classic?.tags.set("kubernetes.io/cluster/other", "owned");
  h.forget();
  h.world.removeNode("node-0");
  await h.settle(300);
  expect(h.changes).toEqual([]);
  expect(classic?.instances).toHaveLength(2);
});

test("keeps a security group and its rules when another load balancer uses the group since an old listing", async () => {
  const h = await served();
  const rules = h.rules();
  await h.settle(old);
  const own = h.groupNamed(`k8s-elb-${h.nameOf()}`)?.id ?? "";
  h.cloud.account.classic.answer("CreateLoadBalancer", {
    LoadBalancerName: "of-a-user",
    Listeners: [{ Protocol: "TCP", LoadBalancerPort: "80", InstancePort: "80" }] as never,
    Subnets: h.cloud.account.subnets.list().map(({ id }) => String(id)),
    SecurityGroups: [own] as never,
  });
  h.world.delete("web");
  await h.settle(300);
  expect(h.cloud.account.classic.all().map(({ name }) => name)).toEqual(["of-a-user"]);
  expect(h.rules()).toEqual(rules);
});

test("sends no lookup after a deletion that AWS has confirmed twice", async () => {
  const h = await served(network);
  h.world.delete("web");
  await h.settle(60);
  const since = requests(h).slice(requests(h).indexOf("DeleteLoadBalancer") + 1);
  expect(since).toEqual(["DeleteTargetGroup", ...Array(3).fill("DescribeLoadBalancers")]);
  expect(h.world.find("web")).toBeUndefined();
});

test("changes a load balancer again once the tags of another cluster are removed from its security group", async () => {
  const h = await served();
  const own = h.groupNamed(`k8s-elb-${h.nameOf()}`);
  h.cloud.account.groups.change(own?.id ?? "", { tags: { "kubernetes.io/cluster/other": "owned" } });
  await h.settle(31 * 60);
  expect(h.said()).toContain("has tags of the cluster other");
  h.cloud.account.groups.change(own?.id ?? "", { tags: {} });
  await h.settle(60);
  h.world.removeNode("node-0");
  await h.settle(60);
  const [classic] = h.cloud.account.classic.all();
  expect(classic?.instances).toHaveLength(1);
});

test("the next listing, even an early one, repairs a change that a user reverts immediately", async () => {
  // A change of security groups would reveal it.
  const h = await served({}, { settings: { "disable-security-group-ingress": "true" } });
  await h.settle(60);
  const [classic] = h.cloud.account.classic.all();
  const before = classic?.instances ?? [];
  const left = before.slice(1);
  h.world.removeNode("node-0");
  await h.settle(20);
  expect(classic?.instances).toEqual(left);
  if (classic !== undefined) classic.instances = before;
  h.world.create("other", draft(network, [tcpPort(80, 30_200)]));
  await h.settle(60);
  expect(classic?.instances).toEqual(left);
});

const attributeOf = (h: BalancerWorld, name: string) =>
  h.cloud.account.network.all()[0]?.attributes.get(name);

test("repairs a user's changes in AWS after an edit of the Service that arrives while targets are read", async () => {
  const h = await served(network);
  await h.settle(old);
  const name = "load_balancing.cross_zone.enabled";
  h.cloud.account.network.all()[0]?.attributes.set(name, "true");
  // The Node itself needs no change, so the edit is the only change.
  const [group] = h.cloud.account.network.targetGroups();
  if (group !== undefined) group.targets = group.targets.slice(1);
  h.forget();
  h.world.removeNode("node-0");
  await h.world.until(() => requests(h).includes("DescribeTargetHealth"), "the reading of targets");
  annotate(h, { "healthcheck-healthy-threshold": "5" });
  await h.settle(60);
  expect(h.changes).toContain("ModifyTargetGroup");
  expect(attributeOf(h, name)).toBe("false");
});

test("the next edit of the Service repairs target group attributes that a user has changed in AWS", async () => {
  const h = await served({ ...network, "target-group-attributes": "preserve_client_ip.enabled=false" });
  await h.settle(old);
  const [group] = h.cloud.account.network.targetGroups();
  group?.attributes.set("preserve_client_ip.enabled", "true");
  annotate(h, { "healthcheck-healthy-threshold": "5" });
  await h.settle(60);
  expect(group?.attributes.get("preserve_client_ip.enabled")).toBe("false");
});
