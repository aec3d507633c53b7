// How many requests load balancers cost: of one Service, and of ten that change together. The Go manager's numbers are those of version
// 1.36.1 for one Service; it has the same for each further one.

import { expect, test } from "bun:test";
import { BalancerWorld, draft, network, tcpPort } from "./balancer-world.ts";

/** The requests of each change, in order: created, a port added, a Node removed, deleted. `pause`: seconds between them. */
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
const ten = { classic: [106, 72, 22, 62], network: [133, 142, 42, 123] } as const;
const cases = [
  ["classic", {}],
  ["network", network],
] as const;

// 30 s: an edit of a Service relies on what was read for the former one. 70 s: what the listing shows is read again.
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
  "ten %s load balancers cost no more requests than were measured, and less than the Go manager's, but for the deletion of network ones",
  async (kind, annotations) => {
    const counts = await requestsFor(annotations, 10, 70);
    for (const [index, limit] of ten[kind].entries()) expect(counts[index]).toBeLessThanOrEqual(limit);
    const more = counts.flatMap((count, index) => (count > 10 * (go[kind][index] ?? 0) ? [index] : []));
    expect(more).toEqual(kind === "network" ? [3] : []);
  },
);
