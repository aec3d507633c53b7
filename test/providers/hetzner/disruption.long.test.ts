// Changes of settings interrupt as little traffic as possible, and mistakes of operators interrupt none.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";
const isChange = (operation: string): boolean => !operation.startsWith("GET ");
const ports = [{ port: 80, protocol: "TCP", nodePort: 30_080 }];
const all = "cloud-node,cloud-node-lifecycle,service";

async function created(annotations: Readonly<Record<string, string>>, options: HetznerWorldOptions = {}) {
  const h = new HetznerWorld({ nodes: 2, hasNetwork: true, ...options });
  await h.start(all);
  h.world.create("web", {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [prefix + name, value]),
    ),
    spec: { ports },
  });
  await h.world.pass(60);
  h.forget();
  return h;
}

const onlyBalancer = (h: HetznerWorld) => {
  const [balancer, ...others] = h.cloud.project.balancers.list();
  if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
  return balancer;
};
const events = (h: HetznerWorld): string => h.world.events("web").join("\n");
const changesOf = (h: HetznerWorld): readonly string[] => h.requests.filter(isChange);

/** The smallest number of targets since the call. */
function watchTargets(h: HetznerWorld): () => number {
  let least = Number.POSITIVE_INFINITY;
  h.world.onCrossing = () => {
    h.cloud.settle();
    least = Math.min(least, onlyBalancer(h).targets.length);
  };
  return () => least;
}

test.each([
  ["private", {}, "true"],
  ["public", { "use-private-ip": "true" }, undefined],
] as const)(
  "replaces 25 targets one by one when the load balancer must reach them over the %s network",
  async (_, before, after) => {
    const h = await created(before, { nodes: 25 });
    const least = watchTargets(h);
    h.world.annotate("web", { [`${prefix}use-private-ip`]: after });
    await h.world.pass(600);
    expect(onlyBalancer(h).targets.filter((one) => one.type === "server" && one.usesPrivateIp)).toHaveLength(
      after === undefined ? 0 : 25,
    );
    expect(least()).toBe(24);
    expect(changesOf(h)).toHaveLength(50);
  },
);

test.each(["99", "missing"])(
  "changes nothing when HCLOUD_NETWORK is %s, which does not exist [F89]",
  async (network) => {
    const h = await created({ "use-private-ip": "true" });
    const { addresses } = h.node("node-0").status;
    await h.world.stop();
    h.forget();
    await h.start(all, `--config-set=network=${network}`);
    await h.world.pass(900);
    expect(changesOf(h)).toEqual([]);
    expect(h.node("node-0").status.addresses).toEqual(addresses as never);
    expect(onlyBalancer(h)).toMatchObject({ privateNets: [{}], targets: [{}, {}] });
    expect(h.world.logged.join("")).toContain(`The network "${network}" does not exist in this project`);
  },
);

test("keeps private targets while the public interface is off, and reports that they stay private", async () => {
  const h = await created({ "use-private-ip": "true", "disable-public-network": "true" });
  h.world.annotate("web", {
    [`${prefix}use-private-ip`]: undefined,
    [`${prefix}disable-public-network`]: undefined,
  });
  h.addNode("more");
  await h.world.pass(600);
  expect(changesOf(h)).toEqual(["POST /load_balancers/{id}/actions/add_target"]);
  expect(onlyBalancer(h).targets).toMatchObject(Array(3).fill({ usesPrivateIp: true }));
  expect(events(h)).toContain("They are still reached over the private network");
  h.world.annotate("web", { [`${prefix}disable-public-network`]: "false" });
  await h.world.pass(120);
  expect(onlyBalancer(h)).toMatchObject({ isPublic: true, targets: [{ usesPrivateIp: false }, {}, {}] });
});

test("keeps the public interface on while targets need it, and reports the ineffective annotation", async () => {
  const h = await created({});
  h.world.annotate("web", { [`${prefix}disable-public-network`]: "true" });
  h.addNode("more");
  await h.world.pass(600);
  expect(changesOf(h)).toEqual(["POST /load_balancers/{id}/actions/add_target"]);
  expect(events(h)).toContain("The public interface stays on");
});

test("publishes the addresses when the manager restarts while the load balancer is created [F39]", async () => {
  const h = new HetznerWorld({ nodes: 2, actionTime: 60_000 as never });
  await h.start("service");
  h.world.create("web", { spec: { ports } });
  await h.world.pass(3);
  h.world.crash();
  await h.start("service");
  h.forget();
  await h.world.pass(90);
  expect(h.world.addressesOf("web")).toEqual([onlyBalancer(h).ipv4 ?? "", onlyBalancer(h).ipv6 ?? ""]);
  expect(changesOf(h)).toEqual([]);
});

test.if(runsAllTests)(
  "sends at most 200 requests in an hour for a hung action, and the Service names it",
  async () => {
    const h = await created({});
    h.cloud.project.actions.plan({ outcome: "hangs", command: "add_target" });
    h.addNode("more");
    await h.world.pass(3600);
    expect(changesOf(h)).toHaveLength(1);
    expect(h.requests.filter((operation) => operation === "GET /actions").length).toBeLessThanOrEqual(200);
    const [condition] = h.world.get("web").status.conditions ?? [];
    expect(condition).toMatchObject({ reason: "CloudObjectBusy" });
    expect(condition?.message).toContain('"add target"');
  },
);

test("sends at most 40 changes in an hour when a program reverts each change [F71]", async () => {
  const h = await created({});
  h.world.onCrossing = () => {
    h.cloud.settle();
    h.cloud.project.balancers.change(onlyBalancer(h).id, { algorithm: "round_robin" });
  };
  h.world.annotate("web", { [`${prefix}algorithm-type`]: "least_connections" });
  await h.world.pass(3600);
  expect(changesOf(h).length).toBeLessThanOrEqual(40);
});

test("sets a reverse DNS name only once although the cloud stores the name in lower case", async () => {
  const h = await created({});
  h.world.onCrossing = () => {
    h.cloud.settle();
    const { id, pointers } = onlyBalancer(h);
    const lower = Object.entries(pointers).map(([ip, name]) => [ip, name.toLowerCase().replace(/\.$/, "")]);
    h.cloud.project.balancers.change(id, { pointers: Object.fromEntries(lower) });
  };
  h.world.annotate("web", { [`${prefix}ipv4-rdns`]: "LB.Example.com." });
  await h.world.pass(600);
  expect(changesOf(h)).toHaveLength(1);
});
