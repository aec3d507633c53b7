// Random changes, adoptions, releases, faults and crashes: afterwards each Service has one load balancer
// with all Nodes, no external service is unused, and no object of others has changed.

import { expect, test } from "bun:test";
import type { CommonFault } from "#ccm/testing";
import { seededRandom } from "../../../src/platform/random.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { draft, prefix, RancherWorld } from "./rancher-world.ts";

const names = ["web", "mail", "shop"] as const;
const operations = [
  ...["POST /loadBalancerServices", "PUT /loadBalancerServices/{id}", "DELETE /loadBalancerServices/{id}"],
  ...["POST /externalServices", "PUT /externalServices/{id}", "DELETE /externalServices/{id}"],
  ...["GET /loadBalancerServices", "GET /externalServices", "GET /externalServices/{id}/consumedbyservices"],
  "POST /loadBalancerServices/{id}?action=activate",
];
const kinds: readonly CommonFault[] = ["status", "page", "reset", "lost-answer"];

/** Adds a load balancer of a user in the same stack, which forwards to a Node, and one of another cluster. */
function addOthers({ cloud: { environment } }: RancherWorld) {
  const { id: stackId } = environment.addStack("kubernetes-loadbalancers");
  const common = { stackId, scale: 1, startOnCreate: true, healthCheck: null, externalIpAddresses: null };
  const empty = { certificateIds: [], defaultCertificateId: null, config: null, stickinessPolicy: null };
  const metadata = {
    "fairlead.dev/cluster": "other",
    "fairlead.dev/service-uid": "11111111-2222-4333-8444-555555555555",
  };
  const external = environment.services.put("externalService", {
    ...common,
    name: "other-9",
    externalIpAddresses: ["192.0.2.99"],
    launchConfig: null,
    lbConfig: null,
    metadata,
  });
  const rule = { sourcePort: 7, targetPort: 7, protocol: "tcp", selector: null, backendName: null };
  return ["own", "lb-a1111111122224333844455555555555"].map((name, index) =>
    environment.services.put("loadBalancerService", {
      ...common,
      name,
      metadata: index === 0 ? {} : metadata,
      launchConfig: { imageUuid: "docker:own/lb", ports: [], labels: {} },
      lbConfig: { ...empty, portRules: [{ ...rule, serviceId: external.id }] },
    }),
  );
}

/** With the last two seeds, an external service that a released load balancer uses lost its mark, and stayed. */
const seeds = runsAllTests ? [1, 2, 3, 4, 5, 6, 7, 8, 1097, 1113] : [1097];

test.each(seeds)("converges after random changes, faults and crashes with seed %p [N10]", async (seed) => {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => {
    const one = list[Math.floor(random.fraction() * list.length)];
    if (one === undefined) throw new Error("Expected an entry.");
    return one;
  };
  const h = new RancherWorld(2);
  const others = addOthers(h);
  const { environment, faults } = h.cloud;
  let nodes = 2;
  let port = 1000;
  const nextPorts = () => {
    port += 1;
    return [{ port, protocol: "TCP", nodePort: 29_000 + port }];
  };
  const actions = [
    () => {
      const name = names.find((one) => h.world.find(one) === undefined);
      if (name !== undefined) h.world.create(name, draft({}, nextPorts()));
    },
    () => {
      const name = pick(names);
      if (h.world.find(name)?.metadata.deletionTimestamp === undefined) {
        if (h.world.find(name) !== undefined) h.world.delete(name);
      }
    },
    () => {
      const name = pick(names);
      if (h.world.find(name) !== undefined) h.world.editSpec(name, { ports: nextPorts() as never });
    },
    () => {
      const name = pick(names);
      if (h.world.find(name) !== undefined)
        h.world.annotate(name, { [`${prefix}lb-scale`]: pick(["1", "2", "global"]) });
    },
    () => h.addNode(`node-${nodes++}`),
    () => {
      const name = names.find((one) => h.world.find(one) === undefined);
      if (name !== undefined) {
        const { spec } = draft({}, nextPorts());
        h.world.create(name, { annotations: { "fairlead.dev/on-delete": "release" }, spec });
      }
    },
    () => {
      const name = names.find((one) => h.world.find(one) === undefined);
      const free = h.balancers.filter(
        (one) => one.name.startsWith("released-") && Object.keys(one.metadata).length === 0,
      );
      if (name !== undefined && free.length > 0)
        h.world.create(name, draft({ "lb-adopt": pick(free).id }, nextPorts()));
    },
    () => {
      const name = pick(names);
      if (h.world.find(name) !== undefined)
        h.world.annotate(name, { [`${prefix}lb-image`]: pick(["a/b:1", "a/b:2"]) });
    },
    () => {
      const name = pick(names);
      if (h.world.find(name) !== undefined)
        h.world.editSpec(name, { loadBalancerIP: pick(["", "192.0.2.1", "192.0.2.2"]) });
    },
    () => h.world.removeNode(`node-${Math.floor(random.fraction() * nodes)}`),
    () =>
      faults.add({
        kind: pick(kinds),
        operation: pick(operations),
        after: Math.floor(random.fraction() * 3),
      }),
  ];
  await h.start("service");
  for (let step = 0; step < 25; step += 1) {
    pick(actions)();
    await h.world.pass(Math.floor(random.fraction() * 8));
    if (random.fraction() < 0.1) {
      h.world.crash();
      await h.start("service");
    }
  }
  faults.clear();
  await h.world.pass(2400);
  const wanted = h.world.services().map(({ metadata }) => metadata.name);
  const present = h.world.server.store.list("nodes").map(({ metadata }) => metadata.name);
  const problems: string[] = [];
  for (const name of wanted) {
    const events = h.world.events(name).join("\n");
    const isHeld = /has one container there|AdoptionRefused|AdoptionNotFound|AmbiguousAdoption/.test(events);
    const rules = h.balancerOf(name)?.lbConfig?.portRules ?? [];
    const targets = rules.map(({ serviceId }) => environment.services.get(serviceId ?? "")?.name).toSorted();
    if (targets.join() !== present.toSorted().join() && !isHeld)
      problems.push(`${name}: ${targets} not ${present}\n${events.slice(-700)}`);
    if (h.balancerOf(name)?.state !== "active" && !isHeld)
      problems.push(`${name}: ${h.balancerOf(name)?.state}\n${events.slice(-500)}`);
  }
  const uids = new Set(h.world.services().map(({ metadata }) => metadata.uid));
  for (const one of h.balancers) {
    const owner = one.metadata["fairlead.dev/service-uid"] as string | undefined;
    if (others.some(({ id }) => id === one.id) || (one.name.startsWith("released-") && owner === undefined))
      continue;
    if (owner === undefined || !uids.has(owner))
      problems.push(`leaked ${one.name} ${JSON.stringify(one.metadata)}`);
  }
  expect(problems).toEqual([]);
  expect(h.balancers.filter(({ id }) => others.some((one) => one.id === id))).toEqual(others);
  const used = new Set(
    h.balancers.flatMap((one) => one.lbConfig?.portRules.map(({ serviceId }) => serviceId) ?? []),
  );
  expect(h.externals.filter(({ id }) => !used.has(id)).map(({ name }) => name)).toEqual([]);
  expect(h.world.unexpectedErrors).toEqual([]);
});
