// How many requests load balancers cost: for one Service, and for ten that change together. The figures of the Go manager
// are those of version 1.36.1 for one Service; each further Service costs it the same.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { BalancerWorld, draft, network, tcpPort } from "./balancer-world.ts";

/** Without the listings of instances, which are for Nodes. */
const requestsIn = (h: BalancerWorld): number =>
  h.cloud.seen.filter(({ operation }) => operation !== "ec2:DescribeInstances").length;

/**
 * The requests of each change, in order: Service created, port added, Node removed, Service deleted. `pause`: seconds
 * between the changes.
 */
async function requestsFor(annotations: Readonly<Record<string, string>>, count: number, pause: number) {
  const h = new BalancerWorld({ nodes: 3 });
  await h.start();
  await h.settle(20);
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  const requests: number[] = [];
  const change = async (work: () => void) => {
    h.forget();
    work();
    await h.settle(pause);
    requests.push(requestsIn(h));
  };
  const ports = (index: number) => [tcpPort(80, 30_100 + index)];
  await change(() => {
    for (const [index, name] of names.entries()) h.world.create(name, draft(annotations, ports(index)));
  });
  await change(() => {
    for (const [index, name] of names.entries())
      h.world.edit(name, (one) => ({
        ...one,
        spec: { ...one.spec, ports: [...ports(index), tcpPort(81, 30_200 + index)] as never },
      }));
  });
  await change(() => h.world.removeNode("node-0"));
  await change(() => {
    for (const name of names) h.world.delete(name);
  });
  return requests;
}

/** In the order: Service created, port added, Node removed, Service deleted. */
const go = { classic: [18, 12, 4, 9], network: [17, 16, 15, 11] } as const;
const ten = { classic: [106, 72, 22, 42], network: [133, 142, 42, 93] } as const;
/** When the last listing is more than five minutes old. */
const old = { classic: [16, 10, 6, 10], network: [17, 17, 9, 10] } as const;
const cases = [
  ["classic", {}],
  ["network", network],
] as const;

// After 30 s, an edit of a Service relies on what was read for the edit before. After 70 s, what the listing shows is read again.
test.each(
  cases.flatMap(([kind, annotations]) => [
    [kind, 30, annotations] as const,
    [kind, 70, annotations] as const,
  ]),
)(
  "a %s load balancer costs no more requests than the Go manager's, with %i seconds between its changes",
  async (kind, pause, annotations) => {
    const counts = await requestsFor(annotations, 1, pause);
    expect(counts.filter((count, index) => count > (go[kind][index] ?? 0))).toEqual([]);
  },
);

test.each(cases)(
  "a %s load balancer costs no more requests than were measured, when the last listing is more than five minutes old",
  async (kind, annotations) => {
    const counts = await requestsFor(annotations, 1, 310);
    expect(counts.filter((count, index) => count > (old[kind][index] ?? 0))).toEqual([]);
  },
);

test.each(cases)(
  "ten %s load balancers cost no more requests than were measured, and less than the Go manager's",
  async (kind, annotations) => {
    const counts = await requestsFor(annotations, 10, 70);
    for (const [index, limit] of ten[kind].entries()) {
      expect(counts[index]).toBeLessThanOrEqual(limit);
      expect(counts[index]).toBeLessThan(10 * (go[kind][index] ?? 0));
    }
  },
);

/** A world with this number of Services, of which every other one has a network load balancer. */
async function serving(count: number, seconds: number): Promise<BalancerWorld> {
  const h = new BalancerWorld({ nodes: 3 });
  await h.start();
  await h.settle(20);
  for (const index of Array(count).keys())
    h.world.create(`web-${index}`, draft(index % 2 === 0 ? {} : network, [tcpPort(80, 30_100 + index)]));
  await h.settle(seconds);
  h.forget();
  return h;
}

test.if(runsAllTests).each([
  ["classic", 60, 19, {}],
  ["network", 60, 19, network],
  ["classic", 310, 26, {}],
  ["network", 310, 26, network],
] as const)(
  "a %s load balancer next to 37 load balancers that are %i s older costs no more requests than were measured",
  async (_, pause, limit, annotations) => {
    const h = await serving(37, pause);
    h.world.create("web", draft(annotations));
    await h.settle(60);
    expect(requestsIn(h)).toBeLessThanOrEqual(limit);
  },
);

test.if(runsAllTests)(
  "39 load balancers that do not change cost no more requests in four hours than were measured",
  async () => {
    const h = await serving(39, 3600);
    await h.settle(4 * 3600);
    expect(requestsIn(h)).toBeLessThanOrEqual(400);
  },
);
