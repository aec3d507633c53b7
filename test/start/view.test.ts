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
  step: "The machine of node-3 is deleted in the cloud",
  waitingFor: "proof that the machine is gone, then the deletion of node-3",
  variablesFile: "/tmp/fairlead-AbCdEf/variables",
  statusURL: "http://127.0.0.1:65535/status",
  cloudURL: "http://127.0.0.1:65534",
  elapsedMs: 12_345,
  nodes: Array.from({ length: nodes }, (_, index) => node(index + 1)),
  machines: new Map([["node-1", "running"]]),
  services: Array.from({ length: services }, (_, index) => service(`service-${index}`)),
  routes: nodes,
  cloudRequests: Object.fromEntries(
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
    why: "it leads to machine 3, and no Node needs it now",
    outcome: "done",
  })),
});

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
];

describe.each(sizes)("the view at $columns x $rows", (size) => {
  test.each([1, 5, 100])("the view fits with %d Nodes, and keeps its first and last lines", (nodes) => {
    for (const services of [0, 2, 20]) {
      const lines = linesOf(scene(nodes, services), size).map(plain);
      expect(lines.length).toBeLessThanOrEqual(size.rows);
      expect(lines.filter((line) => line.length >= size.columns)).toEqual([]);
      expect(lines[0]).toBe("Fairlead demo  12.3s  The machine of node-3 is deleted in the cloud");
      expect(lines[3]).toMatch(/^ {2}NODE +STATE +PROVIDER ID +ADDRESS +MACHINE +TAINTS$/);
      expect(lines.at(-1)).toBe(
        "  To look around, run in another terminal: . /tmp/fairlead-AbCdEf/variables",
      );
      expect(lines).toContain("Status page              http://127.0.0.1:65535/status");
      expect(lines.includes("Cloud API                http://127.0.0.1:65534")).toBe(size.rows >= 30);
      // Some recent changes are always shown, the newest at the bottom.
      expect(lines.at(-2)).toContain("00:00:29");
      expect(lines.at(-4)).toContain("00:00:27");
    }
  });

  test("the view shows a Service with a hostname as ready", () => {
    const [web] = scene(3).services;
    const hostname = "a82742087ffc0d4711-1234567890.elb.us-west-2.amazonaws.com";
    const named = { ...web, status: { loadBalancer: { ingress: [{ hostname }] } } } as unknown as Service;
    const lines = linesOf({ ...scene(3), services: [named] }, size).map(plain);
    expect(lines.join("\n")).toMatch(/^ {2}service-0 +ready +a82742087ffc0d4711-1234567890/m);
    expect(lines.filter((line) => line.length >= size.columns)).toEqual([]);
  });

  test("the view shows how many Nodes and Services do not fit", () => {
    const text = linesOf(scene(100, 20), size).map(plain).join("\n");
    const shown = text.match(/^ {2}node-/gm)?.length ?? 0;
    expect(shown).toBeGreaterThan(0);
    expect(text).toContain(`  … and ${100 - shown} more; total: 100 not ready`);
    expect(text).toContain("  … and 16 more");
  });

  test("the view shows all cloud requests, on more lines if necessary", () => {
    const text = linesOf(scene(100), size).map(plain).join(" ").replaceAll(/ +/g, " ");
    expect(text).toContain(
      "Cloud requests 66: machines GET 12 POST 7 DELETE 3, balancers GET 12 POST 7 DELETE 3, routes GET 12 POST 7 DELETE 3",
    );
  });

  test("the view shows a request to the root of the API with a slash", () => {
    const text = linesOf({ ...scene(3), cloudRequests: { "GET /": 2 } }, size)
      .map(plain)
      .join("\n");
    expect(text).toMatch(/Cloud requests +2: \/ GET 2/);
  });

  test("the view shows SOAP requests, which have no path, without a group", () => {
    const cloudRequests = { Login: 1, RetrievePropertiesEx: 2, "POST tag-association": 1 };
    const text = linesOf({ ...scene(3), cloudRequests }, size)
      .map(plain)
      .join("\n");
    expect(text).toMatch(/Cloud requests +4: Login 1 RetrievePropertiesEx 2,\s+tag-association POST 1/);
  });

  test("the view shows the number of routes only for a cloud that has routes", () => {
    const text = (routes: number | undefined) =>
      linesOf({ ...scene(3), routes }, size)
        .map(plain)
        .join("\n");
    expect(text(0)).toContain("Pod routes in the cloud  0");
    expect(text(undefined)).not.toContain("routes in");
  });

  test("the view shows the Nodes that the demo is about when not all fit", () => {
    const many = scene(100);
    const nodes = many.nodes.map((each, index) =>
      index === 76 ? each : { ...each, status: { conditions: [{ type: "Ready", status: "True" }] } },
    ) as unknown as readonly Node[];
    const machines = new Map(nodes.map(({ metadata }) => [metadata.name as string, "running"]));
    const shown = linesOf({ ...many, nodes, machines }, size)
      .map(plain)
      .filter((line) => line.startsWith("  node-"));
    expect(shown[0]).toMatch(/^ {2}node-3 +schedulable/);
    expect(shown[1]).toMatch(/^ {2}node-77 +not ready/);
  });

  test("the view keeps half of the room for recent changes when not all Nodes fit", () => {
    const lines = linesOf(scene(100), size).map(plain);
    const changes = lines.filter((line) => line.startsWith("  00:00:")).length;
    expect(changes).toBeGreaterThanOrEqual(lines.filter((line) => line.startsWith("  node-")).length - 1);
  });

  test("the view puts the reason of a change first, so that it remains visible when the line is cut", () => {
    const line = plain(linesOf(scene(5), size).at(-2) ?? "");
    expect(line).toContain("a82742087ffc0…  it leads to machine 3, and no Node needs");
  });
});

test("the view adds up the requests to a collection by method", () => {
  const cloudRequests = {
    "GET /networks/{id}": 3,
    "POST /networks/{id}/actions/add_route": 5,
    "GET /networks": 1,
    "POST /networks/{id}/actions/delete_route": 2,
  };
  const text = linesOf({ ...scene(1), cloudRequests }, { columns: 120, rows: 40 })
    .map(plain)
    .join("\n");
  expect(text).toContain("Cloud requests           11: networks GET 4 POST 7\n");
});

test("the view shows all Nodes and full changes on a large terminal", () => {
  const text = linesOf(scene(10), { columns: 200, rows: 60 }).map(plain).join("\n");
  expect(text.match(/^ {2}node-/gm)).toHaveLength(10);
  expect(text).not.toContain("… and");
  expect(text).toContain("and no Node needs it now: remove route 10.128.3.0/24");
});

test("the view lists Nodes in the order of their numbers", () => {
  const names = linesOf(scene(12), { columns: 200, rows: 60 }).flatMap(
    (line) => /^ {2}(node-\d+)/.exec(plain(line))?.[1] ?? [],
  );
  expect(names.slice(0, 3)).toEqual(["node-1", "node-2", "node-3"]);
  const reversed = { ...scene(12), nodes: scene(12).nodes.toReversed() };
  expect(linesOf(reversed, { columns: 200, rows: 60 })).toEqual(
    linesOf(scene(12), { columns: 200, rows: 60 }),
  );
});

test("the view shows a taint key once, even with several effects", () => {
  const lines = linesOf(scene(3), { columns: 80, rows: 24 }).map(plain);
  expect(lines.find((line) => line.startsWith("  node-2"))).toMatch(/ {2}unreachable$/);
});

test("the view never cuts the path of the variables, and leaves room for the lines it wraps to", () => {
  const variablesFile = `/var/folders/${"x".repeat(60)}/fairlead-AbCdEf/variables`;
  const lines = linesOf({ ...scene(100), variablesFile }, { columns: 80, rows: 24 }).map(plain);
  expect(lines.at(-1)).toBe(`. ${variablesFile}`);
  expect(lines).toHaveLength(23);
});

test("the view cuts neither the step nor its reason to wait on a narrow terminal", () => {
  const lines = linesOf(scene(5), { columns: 50, rows: 24 }).map(plain);
  expect(lines.slice(0, 5)).toEqual([
    "Fairlead demo  12.3s",
    "  The machine of node-3 is deleted in the cloud",
    "  Waiting for proof that the machine is gone,",
    "  then the deletion of node-3",
    "",
  ]);
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines).toContain("Status page  http://127.0.0.1:65535/status");
  expect(lines.at(-2)).toContain("00:00:29");
});

test("the view shows its top lines on a very small terminal", () => {
  const lines = linesOf(scene(100), { columns: 40, rows: 8 }).map(plain);
  expect(lines).toHaveLength(8);
  expect(lines[0]).toBe("Fairlead demo  12.3s  The machine of n…");
});
