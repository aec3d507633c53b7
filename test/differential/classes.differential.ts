// Two managers in one cluster and one account: upstream serves Services without a class, and Fairlead those of one class.

import { expect, test } from "bun:test";
import type { Service } from "../../src/kube/objects.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { until } from "../cluster/rig/until.ts";
import { managers } from "./rig/managers.ts";
import { planes, writersOf } from "./rig/planes.ts";
import { World } from "./rig/world.ts";
import { joins } from "./scenarios/node-scenarios.ts";

const shop = "example.com/shop";
/**
 * The suffix of a Service's name identifies its manager. A Service that is recreated with the other class gets the other suffix.
 */
const kinds = ["plain", "shop"] as const;
type Kind = (typeof kinds)[number];
const algorithm = "balancer.fake.example/algorithm";
const usualAlgorithm = "round-robin";
const kindOf = (name: string): Kind => (name.endsWith("-shop") ? "shop" : "plain");
const specOf = (name: string): object => (kindOf(name) === "shop" ? { loadBalancerClass: shop } : {});
const finalizerOf = (name: string): string =>
  kindOf(name) === "shop"
    ? "class.fairlead.dev/shop-f4ec2de5"
    : "service.kubernetes.io/load-balancer-cleanup";

/** The deviations of one Service. */
function wrongWith(
  world: World,
  { metadata, spec, status }: Service,
  nodes: readonly string[],
): readonly string[] {
  const { name, uid, finalizers = [] } = metadata;
  const isWanted = spec.type === "LoadBalancer";
  const own = world.cloud.balancers.list().filter(({ labels }) => labels["owner-uid"] === uid);
  const ports = own.flatMap(({ listeners }) => listeners.map(({ port }) => port));
  const expected = isWanted ? (spec.ports ?? []).map(({ port }) => port) : [];
  const addresses = (status.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  const algorithms = own.map(({ algorithm }) => algorithm);
  const targets = own.flatMap((one) => one.targets.map((id) => world.cloud.machines.find(id)[0]?.name));
  const seen = {
    balancers: own.length,
    ports,
    algorithms,
    targets: targets.toSorted(),
    finalizers,
    addresses,
  };
  const right = {
    balancers: isWanted ? 1 : 0,
    ports: expected,
    algorithms: isWanted ? [metadata.annotations?.[algorithm] ?? usualAlgorithm] : [],
    targets: isWanted ? nodes : [],
    finalizers: isWanted ? [finalizerOf(name)] : [],
    addresses: own.map(({ ip }) => ip),
  };
  return JSON.stringify(seen) === JSON.stringify(right)
    ? []
    : [`${name}: ${JSON.stringify(seen)}, not ${JSON.stringify(right)}`];
}

async function allWrong(world: World): Promise<readonly string[]> {
  const [services, all] = await Promise.all([world.services(), world.nodes()]);
  const nodes = all.map(({ metadata }) => metadata.name).toSorted();
  const uids = new Set(services.map(({ metadata }) => metadata.uid));
  const isLeft = (uid: string): boolean =>
    // Upstream leaves a load balancer behind if its Service is deleted during the creation.
    !uids.has(uid) && kindOf(world.serviceNames.get(uid) ?? "") === "shop";
  const left = world.cloud.balancers.list().filter(({ labels }) => isLeft(labels["owner-uid"] ?? ""));
  return [
    ...services.flatMap((service) => wrongWith(world, service, nodes)),
    ...left.map(({ name }) => `${name} has no Service`),
  ];
}

async function settled(world: World): Promise<void> {
  let wrong: readonly string[] = [];
  await until(
    "each Service to have its load balancer",
    async () => {
      wrong = await allWrong(world);
      return wrong.length === 0;
    },
    { everyMs: 200, explain: () => [...wrong, world.log()].join("\n") },
  );
}

test("each of two managers serves its own Services through 60 changes, and changes no other Service [F105]", async () => {
  const [plane] = planes();
  if (plane === undefined) throw new Error("There is no control plane.");
  await using world = await World.open(plane);
  await world.reset();
  const writesBefore = writersOf(plane).length;
  await world.start(managers.upstream());
  await world.startBeside(managers.ofClass(shop), "shop");
  for (const number of [1, 2]) await joins(`target-${number}`).act(world);
  // The Node of this machine joins and leaves.
  world.machine("target-3");
  await until("the Nodes to be initialized", async () =>
    (await world.nodes()).every(({ spec }) => spec.providerID !== undefined),
  );

  const random = seededRandom(105);
  const choose = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)] as T;
  const types = new Map<string, string>();
  const create = async (name: string): Promise<void> => {
    types.set(name, "LoadBalancer");
    await world.createService(name, specOf(name));
  };
  const remove = async (name: string): Promise<void> => {
    types.delete(name);
    await world.deleteService(name);
  };
  for (let change = 0; change < 60; change++) {
    const kind =
      types.size < 4
        ? "create"
        : choose(["create", "delete", "type", "ports", "class", "annotation", "node"]);
    const name = choose([...types.keys(), "none"].slice(0, Math.max(1, types.size)));
    if (kind === "create") await create(`web-${change}-${choose(kinds)}`);
    else if (kind === "delete") await remove(name);
    else if (kind === "class") {
      await remove(name);
      await create(`web-${change}-${kindOf(name) === "shop" ? "plain" : "shop"}`);
    } else if (kind === "ports")
      await world.editService(name, {
        spec: { ports: [{ name: "web", port: 8000 + change, targetPort: 8080 }] },
      });
    else {
      const type = types.get(name) === "LoadBalancer" ? "ClusterIP" : "LoadBalancer";
      types.set(name, type);
      await world.editService(name, { spec: { type, ...(type === "LoadBalancer" && specOf(name)) } });
    }
    // Some changes follow while the managers still process the last ones.
    if (random.fraction() < 0.4) await settled(world);
  }
  await settled(world);
  for (const name of types.keys()) await world.deleteService(name);
  await until("the deletion of all", async () => (await world.services()).length === 0, {
    explain: () => world.log(),
  });
  await settled(world);

  const cloudTouches = world.calls.flatMap(({ about, by }) => {
    const [, uid = ""] = /^load balancer of (\S+)$/.exec(about) ?? [];
    return `${by} ${kindOf(world.serviceNames.get(uid) ?? "unknown")}`;
  });
  expect(new Set(cloudTouches)).toEqual(new Set(["fake plain", "shop shop"]));
  // The user agent of the tests contains the runtime's name.
  const all = writersOf(plane).slice(writesBefore);
  const writes = all.filter(({ agent }) => !agent.startsWith("Bun/"));
  const writers = writes.flatMap(({ agent, what }) => {
    const [, name] = / services(?:\/status)? (\S+)$/.exec(what) ?? [];
    const isFairlead = agent.startsWith("fake-cloud-controller-manager");
    return name === undefined ? [] : `${isFairlead ? "Fairlead" : "upstream"} ${kindOf(name)}`;
  });
  expect(new Set(writers)).toEqual(new Set(["upstream plain", "Fairlead shop"]));
});
