// How many requests load balancers cost: of one Service, and of ten that change together. The Go manager's numbers are those of version
// 1.36.1 for one Service; it has the same for each further one.

import { expect, test } from "bun:test";
import { BalancerWorld, draft, network, tcpPort } from "./balancer-world.ts";

/** The requests of each change, in order: created, a port added, a Node removed, deleted. */
async function requestsFor(annotations: Readonly<Record<string, string>>, count: number) {
  const h = new BalancerWorld({ nodes: 3 });
  await h.start();
  await h.settle(20);
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  const requests: number[] = [];
  const change = async (work: () => void) => {
    h.forget();
    work();
    await h.settle(30);
    requests.push(h.cloud.seen.length);
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

/** Created, a port added, a Node removed, deleted. */
const go = { classic: [18, 12, 4, 9], network: [17, 16, 15, 11] } as const;
const measured = {
  classic: { one: [16, 10, 11, 8], ten: [106, 46, 38, 62] },
  network: { one: [17, 18, 20, 11], ten: [133, 118, 112, 123] },
} as const;

test.each([
  ["classic", {}],
  ["network", network],
] as const)(
  "%s load balancers cost no more requests than were measured, and for ten Services less than the Go manager's, but for the deletion of network ones",
  async (kind, annotations) => {
    const [one, ten] = [await requestsFor(annotations, 1), await requestsFor(annotations, 10)];
    for (const [index, limit] of measured[kind].one.entries()) expect(one[index]).toBeLessThanOrEqual(limit);
    for (const [index, limit] of measured[kind].ten.entries()) expect(ten[index]).toBeLessThanOrEqual(limit);
    const more = ten.flatMap((count, index) => (count > 10 * (go[kind][index] ?? 0) ? [index] : []));
    expect(more).toEqual(kind === "network" ? [3] : []);
  },
);
