import { describe, expect, test } from "bun:test";
import { plain } from "../../scripts/start/screen.ts";
import { linesOf, type Scene } from "../../scripts/start/view.ts";
import { nodeName, serviceUID } from "../../src/core/brand.ts";
import type { Node, Service } from "../../src/kube/objects.ts";

const unreachable = "node.kubernetes.io/unreachable";
const node = (index: number): Node =>
  ({
    metadata: { name: nodeName(`node-${index}`) },
    spec: {
      providerID: `fake://${index}`,
      ...(index === 2
        ? {
            taints: [
              { key: unreachable, effect: "NoSchedule" },
              { key: unreachable, effect: "NoExecute" },
            ],
          }
        : {}),
    },
    status: { addresses: [{ type: "InternalIP", address: `10.0.0.${index}` }] },
  }) as unknown as Node;
const service = (name: string): Service =>
  ({
    metadata: { name, uid: serviceUID(name) },
    spec: {},
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
  }) as unknown as Service;

const scene = (nodes: number, services = 2): Scene => ({
  chapter: "the machine of node-3 vanishes",
  waitsFor: "node-3 to be proved gone and deleted",
  kubeconfig: "/tmp/fairlead-AbCdEf/kubeconfig",
  elapsedMs: 12_345,
  nodes: Array.from({ length: nodes }, (_, index) => node(index + 1)),
  machines: new Map([["node-1", "running"]]),
  services: Array.from({ length: services }, (_, index) => service(`service-${index}`)),
  routes: nodes,
  cloudCalls: Object.fromEntries(
    ["machines", "balancers", "routes"].flatMap((what) => [
      [`GET /${what}`, 12],
      [`POST /${what}`, 7],
      [`DELETE /${what}/{id}`, 3],
    ]),
  ),
  journal: Array.from({ length: 30 }, (_, index) => ({
    at: index * 1000,
    target: "cloud",
    action: "remove route 10.128.3.0/24",
    object: `balancer/a82742087ffc0d4711-${index}`,
    why: "it leads to machine 3, which no node asks for any more",
    outcome: "done",
  })),
});

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
];

describe.each(sizes)("the view at $columns x $rows", (size) => {
  test.each([1, 5, 100])("fits, with its head and its last line, with %d nodes", (nodes) => {
    for (const services of [0, 2, 20]) {
      const lines = linesOf(scene(nodes, services), size).map(plain);
      expect(lines.length).toBeLessThanOrEqual(size.rows);
      expect(lines.filter((line) => line.length >= size.columns)).toEqual([]);
      expect(lines[0]).toBe("Fairlead  12.3 s   the machine of node-3 vanishes");
      expect(lines[3]).toMatch(/^ {2}NODE +STATE +PROVIDER ID +ADDRESS +MACHINE +TAINTS$/);
      expect(lines.at(-1)).toBe("  in another terminal: export KUBECONFIG=/tmp/fairlead-AbCdEf/kubeconfig");
      // Some of what happened last is always there, the newest at the bottom.
      expect(lines.at(-2)).toContain("00:00:29");
      expect(lines.at(-4)).toContain("00:00:27");
    }
  });

  test("says how many nodes and Services are left out", () => {
    const text = linesOf(scene(100, 20), size).map(plain).join("\n");
    const shown = text.match(/^ {2}node-/gm)?.length ?? 0;
    expect(shown).toBeGreaterThan(0);
    expect(text).toContain(`  … and ${100 - shown} more; in all 100 not ready`);
    expect(text).toContain("  … and 16 more");
  });

  test("begins with the reason, so that it is whole where a line is cut", () => {
    const line = plain(linesOf(scene(5), size).at(-2) ?? "");
    expect(line).toContain("a82742087ffc0…  it leads to machine 3, which no node ask");
  });
});

test("all nodes and as much of the past as there is room for are shown on a wide and high terminal", () => {
  const text = linesOf(scene(10), { columns: 200, rows: 60 }).map(plain).join("\n");
  expect(text.match(/^ {2}node-/gm)).toHaveLength(10);
  expect(text).not.toContain("… and");
  expect(text).toContain("which no node asks for any more: remove route 10.128.3.0/24");
});

test("taints of one key and several effects are shown once", () => {
  const lines = linesOf(scene(3), { columns: 80, rows: 24 }).map(plain);
  expect(lines.find((line) => line.startsWith("  node-2"))).toMatch(/ {2}unreachable$/);
});

test("a long path of the kubeconfig is never cut, and what it wraps to is counted", () => {
  const kubeconfig = `/var/folders/${"x".repeat(60)}/fairlead-AbCdEf/kubeconfig`;
  const lines = linesOf({ ...scene(100), kubeconfig }, { columns: 80, rows: 24 }).map(plain);
  expect(lines.at(-1)).toBe(`export KUBECONFIG=${kubeconfig}`);
  expect(lines).toHaveLength(23);
});

test("a terminal that is lower than the view shows its top", () => {
  const lines = linesOf(scene(100), { columns: 40, rows: 8 }).map(plain);
  expect(lines).toHaveLength(8);
  expect(lines[0]).toBe("Fairlead  12.3 s   the machine of node…");
});
