import { afterEach, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { NodeControllers, uninitialized } from "../../support/node-controllers.ts";
import { machine, ScriptedSource } from "../../support/scripted-source.ts";

// Machines that several clusters use in turn: the id stays, and the name identifies the Node.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

function setUp({ nameDecides = true, names = ["n0"] } = {}): NodeControllers {
  const script = { takes: milliseconds(100), lookups: { id: 100 } };
  world = new NodeControllers({
    sources: (clock) => {
      const source = new ScriptedSource({ clock, ...script }, [
        machine("7", { names }),
        machine("8", { names: ["n1"] }),
      ]);
      return [nameDecides ? Object.assign(source, { nameDecides: true as const }) : source];
    },
  });
  return world;
}

function rename(w: NodeControllers, names: readonly string[]): void {
  const [{ source }] = w.inventory.sources as unknown as readonly [{ source: ScriptedSource }];
  source.machines.set("7", machine("7", { names }));
}

function addNode(
  w: NodeControllers,
  status: "True" | "False",
  taints: readonly (typeof uninitialized)[] = [],
): void {
  w.nodes.add({
    name: "n0",
    createdAt: w.clock.now() - 86_400_000,
    spec: { providerID: "fake://7", taints: [...taints] },
    status: { conditions: [{ type: "Ready", status }] },
  });
}

test("deletes a Node after two proofs once its machine has a different name", async () => {
  const w = setUp().start("lifecycle");
  addNode(w, "False");
  await w.pass(120);
  expect(w.nodes.names()).toEqual(["n0"]);
  rename(w, ["other"]);
  const renamedAt = w.clock.monotonic();
  await w.clock.until(() => w.nodes.names().length === 0, milliseconds(600_000), "the deletion");
  expect(w.clock.monotonic() - renamedAt).toBeGreaterThanOrEqual(30_000);
  expect(w.reasons("n0")).toContain("DeletingNode");
});

test.each([
  ["where names do not decide", { nameDecides: false }, ["other"]],
  ["while the machine reports no name", {}, []],
  ["while one of its names is the Node's", {}, ["other", "n0"]],
])("keeps the Node of a renamed machine %s", async (_, options, names) => {
  const w = setUp(options).start("lifecycle");
  rename(w, names);
  addNode(w, "False");
  await w.pass(600);
  expect(w.nodes.names()).toEqual(["n0"]);
});

test("warns a Ready Node once when its machine has a different name, and again if that recurs", async () => {
  const w = setUp().start("node", "lifecycle");
  addNode(w, "True");
  const list = async () => {
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(10);
  };
  await list();
  rename(w, ["other"]);
  await list();
  await list();
  const warnings = () => w.reported.filter(({ reason }) => reason === "PossibleNodeDeletion");
  expect(warnings().map(({ message }) => message)).toEqual([
    'Instance fake://7 has the name "other", not "n0", so it is used for something else, and the Node counts as gone. Fairlead deletes the Node when it is not Ready and the cloud has confirmed this. To keep the Node, give the instance its name again.',
  ]);
  rename(w, ["n0"]);
  await list();
  rename(w, ["other"]);
  await list();
  expect(warnings()).toHaveLength(2);
  expect(w.nodes.names()).toEqual(["n0"]);
});

test("a joining Node with the id of a machine with a different name stays uninitialized, with a message", async () => {
  const w = setUp({ names: ["other"] }).start("node");
  addNode(w, "False", [uninitialized]);
  await w.pass(30);
  expect(w.initialized).toEqual([]);
  expect(w.reported.map(({ reason }) => reason)).toEqual(["NotFoundInCloud"]);
  expect(w.reported[0]?.message).toContain('Instance fake://7 has the name "other", not "n0"');
  rename(w, ["n0"]);
  await w.pass(120);
  expect(w.initialized).toEqual(["n0"]);
});
