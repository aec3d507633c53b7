import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { defineProvider, nodeSelector, text } from "../../../src/index.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A provider annotation that selects the target Nodes, which the framework applies.

const key = "balancer.fake.example/node-selector";
const own = "fairlead.dev/target-selector";
const fields = { ...fake.annotations?.fields, "node-selector": nodeSelector("The target Nodes.") };
const provider = {
  ...fake,
  annotations: { prefix: "balancer.fake.example/", fields, targetSelector: "node-selector" },
} as unknown as AnyProvider;

function label(w: ServiceWorld, name: string, labels: Readonly<Record<string, string>>): void {
  w.changeNode(name, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels } }));
}

async function startWorld(): Promise<ServiceWorld> {
  const w = new ServiceWorld({ provider, nodes: 4 });
  label(w, "node-0", { pool: "web", tier: "gold" });
  label(w, "node-1", { pool: "web" });
  label(w, "node-2", { pool: "api", tier: "gold" });
  await w.start();
  return w;
}

function targetsOf(w: ServiceWorld): readonly string[] {
  const names = new Map(w.cloud.machines.list().map(({ id, name }) => [id, name]));
  const [balancer] = w.cloud.balancers.list();
  return (balancer?.targets ?? []).map((id) => names.get(id) ?? id).toSorted();
}

test("a provider annotation selects the targets, and excluded Nodes cause no event", async () => {
  const w = await startWorld();
  w.create("web", { annotations: { [key]: "pool=web" } });
  await w.pass(30);
  expect(targetsOf(w)).toEqual(["node-0", "node-1"]);
  expect(w.events("web").filter((event) => event.startsWith("Warning"))).toEqual([]);
  label(w, "node-3", { pool: "web" });
  await w.pass(30);
  expect(targetsOf(w)).toEqual(["node-0", "node-1", "node-3"]);
  w.annotate("web", { [key]: "" });
  await w.pass(30);
  expect(targetsOf(w)).toHaveLength(4);
});

test("both selectors apply together, and so do other target policies", async () => {
  const w = await startWorld();
  w.create("web", { annotations: { [key]: "pool=web", [own]: "tier=gold" } });
  await w.pass(30);
  expect(targetsOf(w)).toEqual(["node-0"]);
  w.annotate("web", { [own]: undefined, "fairlead.dev/target-policy": "endpoints" });
  await w.pass(30);
  expect(targetsOf(w)).toEqual(["node-0", "node-1"]);
});

test("an invalid provider selector does not change the targets, even after a restart", async () => {
  const w = await startWorld();
  w.create("web", { annotations: { [key]: "pool=web" } });
  await w.pass(30);
  w.annotate("web", { [key]: "pool in (web" });
  w.addNode("late");
  label(w, "late", { pool: "web" });
  await w.pass(30);
  // The last valid selector is still known.
  expect(targetsOf(w)).toEqual(["late", "node-0", "node-1"]);
  expect(w.events("web").join()).toContain(`${key} must be a label selector such as`);
  w.crash();
  w.forget();
  await w.start();
  w.addNode("later");
  label(w, "node-1", { pool: "api" });
  await w.pass(60);
  expect([targetsOf(w), w.changes]).toEqual([["late", "node-0", "node-1"], []]);
  expect(w.get("web").status.conditions).toMatchObject([{ status: "False" }]);
  w.annotate("web", { [key]: "pool=web" });
  await w.pass(30);
  expect(targetsOf(w)).toEqual(["late", "node-0"]);
});

test.each([
  [{ [key]: "pool=none" }, `None of the 4 Nodes matches ${key} "pool=none"`],
  [
    { [key]: "pool=api", [own]: "tier=silver" },
    `None of the 1 Nodes that ${key} selects matches ${own} "tier=silver"`,
  ],
])(
  "when no Node matches the selection %p, reports the annotation that causes it",
  async (annotations, text) => {
    const w = await startWorld();
    w.create("web", { annotations });
    await w.pass(30);
    expect(targetsOf(w)).toEqual([]);
    expect(w.events("web").join()).toContain(text);
  },
);

test("only a selector field can select targets", () => {
  const annotations = {
    prefix: "example.com/",
    fields: { pool: text("A pool."), nodes: fields["node-selector"] },
  } as const;
  const rest = {
    contract: 3,
    name: "example",
    schemes: ["example://"],
    config: {},
    connect: () => ({}),
  } as const;
  const definition = defineProvider({ ...rest, annotations: { ...annotations, targetSelector: "nodes" } });
  expect(definition.annotations?.targetSelector).toBe("nodes");
  // @ts-expect-error: the field is a text.
  defineProvider({ ...rest, annotations: { ...annotations, targetSelector: "pool" } });
});
