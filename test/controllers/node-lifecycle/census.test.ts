import { describe, expect, spyOn, test } from "bun:test";
import { Doubt } from "../../../src/controllers/kernel/doubt.ts";
import { NodeCensus } from "../../../src/controllers/node-lifecycle/allow.ts";
import { Candidates } from "../../../src/controllers/node-lifecycle/candidates.ts";
import { LifecycleHistory } from "../../../src/controllers/node-lifecycle/history.ts";
import { lifecycleDefaults } from "../../../src/controllers/node-lifecycle/settings.ts";
import { PendingLookups } from "../../../src/controllers/pending-lookups.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";
import { vouchedRemovals } from "../../support/vouched-removals.ts";

interface Draft {
  readonly ready?: "True" | "False";
  readonly hasID?: boolean;
  readonly account?: string;
}

/** Nodes and a cloud without controllers, and the doubt about both. */
const setUp = () => {
  const w = new NodeControllers();
  const { clock, inventory } = w;
  const removals = vouchedRemovals(clock);
  const isSelected = (node: Node) => node.metadata.labels?.["account"] !== "other";
  const { store: nodes } = w.nodes;
  const formerLeaders = () => 0;
  const newHistory = () =>
    new LifecycleHistory({ nodes, inventory, clock, removals, isSelected, formerLeaders });
  const history = newHistory();
  const candidates = new Candidates(clock, new PendingLookups(inventory, clock), history.board);
  const logged: string[] = [];
  const newDoubt = (of = newHistory()) =>
    new Doubt({
      kind: "nodes",
      census: new NodeCensus({ nodes, inventory, isSelected }, candidates, of),
      clock,
      removals,
      settings: lifecycleDefaults,
      memory: of.limit,
      onHold: (held) => void logged.push(held === undefined ? "ends" : "begins"),
    });
  const doubt = newDoubt(history);
  candidates.subscribe((name) => doubt.noteChange(name));
  nodes.subscribe(({ key }) => doubt.noteChange(key));
  inventory.subscribe(() => doubt.refresh());
  const add = (prefix: string, amount: number, { ready = "True", hasID = true, account }: Draft = {}) => {
    for (let index = 0; index < amount; index += 1) {
      const name = `${prefix}${index}`;
      w.nodes.add({
        name,
        ...(account !== undefined && { labels: { account } }),
        ...(hasID && { spec: { providerID: `fake://${name}` } }),
        status: { conditions: [{ type: "Ready", status: ready }] },
      });
    }
  };
  const put = (prefix: string, amount: number) => {
    for (let index = 0; index < amount; index += 1) w.cloud.put(machine(`${prefix}${index}`));
  };
  const list = async () => {
    inventory.requestListing(clock.monotonic(), "refresh");
    await w.pass(1);
  };
  const remove = (prefix: string, amount: number) => {
    for (let index = 0; index < amount; index += 1) w.nodes.remove(`${prefix}${index}`);
  };
  const mayDelete = () => doubt.verdict().held === undefined;
  return { ...w, w, add, put, list, remove, candidates, doubt, history, newDoubt, mayDelete, logged };
};

test("reports the end of a hold once, after the listing that shows the Nodes again [N1]", async () => {
  const { add, put, list, mayDelete, logged } = setUp();
  put("kept", 4);
  add("kept", 4);
  add("lost", 10, { ready: "False" });
  await list();
  expect([mayDelete(), logged]).toEqual([false, ["begins"]]);
  put("lost", 10);
  await list();
  expect(logged).toEqual(["begins", "ends"]);
  await list();
  expect([mayDelete(), logged.length]).toEqual([true, 2]);
});

describe("the count of recent losses", () => {
  test("recent losses exclude Ready Nodes that were deleted manually, so that a scaled-down pool delays no deletion", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 7);
    add("kept", 7);
    add("ready", 3);
    remove("ready", 3);
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("recent losses include Nodes that any client deleted while they were not Ready", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 7);
    add("kept", 7);
    add("lost", 3, { ready: "False" });
    remove("lost", 3);
    await list();
    expect(mayDelete()).toBe(false);
  });

  test("recent losses include a Node that was replaced under its name before its deletion was seen", async () => {
    const { w, add, put, list, mayDelete } = setUp();
    put("kept", 7);
    put("lost", 3);
    add("kept", 7);
    add("lost", 3, { ready: "False" });
    for (const name of ["lost0", "lost1", "lost2"]) {
      w.nodes.change(name, ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, uid: `${name}-2` },
      }));
    }
    await list();
    expect(mayDelete()).toBe(false);
  });

  test("recent losses exclude Nodes of another account", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 7);
    add("kept", 7);
    add("other", 3, { ready: "False", account: "other" });
    remove("other", 3);
    await list();
    expect(mayDelete()).toBe(true);
  });
});

describe("the count of missing Nodes", () => {
  test("missing Nodes exclude Ready Nodes without a provider id, whose machines may not be visible yet", async () => {
    const { add, list, mayDelete } = setUp();
    add("young", 5, { hasID: false });
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("recent losses exclude Nodes of another account", async () => {
    const { add, list, mayDelete } = setUp();
    add("other", 5, { account: "other" });
    await list();
    expect(mayDelete()).toBe(true);
  });
});

test("a hold does not count a Node whose deletion an operator has confirmed", async () => {
  const { w, add, put, list, mayDelete } = setUp();
  put("kept", 7);
  add("kept", 7);
  add("lost", 3, { ready: "False" });
  await list();
  expect(mayDelete()).toBe(false);
  w.nodes.annotate("lost0", { "fairlead.dev/node-deletion": "confirmed" });
  expect(mayDelete()).toBe(true);
});

describe("one Ready Node that a listing lacks", () => {
  const missing = ({ add, put }: ReturnType<typeof setUp>) => {
    put("kept", 10);
    add("kept", 10);
    add("ready", 1);
    add("lost", 1, { ready: "False" });
  };

  test("one Ready Node that a listing lacks holds the deletion of other Nodes, until it is shown or not Ready [F23]", async () => {
    for (const end of ["shown", "not Ready"]) {
      const world = setUp();
      missing(world);
      await world.list();
      expect(world.doubt.verdict().held).toMatchObject({ absent: 2, contradictedBy: "ready0" });
      if (end === "shown") world.put("ready", 1);
      else world.w.nodes.setReady("ready0", "Unknown");
      await world.list();
      expect(world.mayDelete()).toBe(true);
    }
  });

  test("one Ready Node that a listing lacks holds nothing if another machine has its name, because its kubelet runs there", async () => {
    const world = setUp();
    missing(world);
    world.w.cloud.put({ ...machine("ready0"), key: "other" });
    await world.list();
    expect(world.mayDelete()).toBe(true);
  });

  test.each([
    ["paused", { "fairlead.dev/paused": "true" }],
    ["never deleted", { "fairlead.dev/node-deletion": "never" }],
    ["confirmed to be gone", { "fairlead.dev/node-deletion": "confirmed" }],
  ])("one Ready Node that a listing lacks holds nothing if it is %s", async (_, annotations) => {
    const world = setUp();
    missing(world);
    world.w.nodes.annotate("ready0", annotations);
    await world.list();
    expect(world.mayDelete()).toBe(true);
  });

  test("one Ready Node that a listing lacks is only one of two reasons for a hold above the limit", async () => {
    const world = setUp();
    missing(world);
    world.add("more", 3, { ready: "False" });
    await world.list();
    expect(world.doubt.verdict().held).toMatchObject({ absent: 5, contradictedBy: undefined });
  });
});

describe("the mass limit's share of all Nodes", () => {
  test("the mass limit's share includes Nodes without a provider id", async () => {
    const { add, list, mayDelete } = setUp();
    add("young", 12, { hasID: false });
    add("gone", 3, { ready: "False" });
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("the mass limit's share includes recently deleted Nodes, so that the limit does not shrink with each deletion", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 12);
    add("kept", 12);
    add("gone", 3, { ready: "False" });
    remove("gone", 1);
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("the mass limit's share includes Nodes that joined since the last listing", async () => {
    const { w, add, put, list, newDoubt } = setUp();
    put("kept", 12);
    put("new", 1);
    add("kept", 11);
    add("gone", 3, { ready: "False" });
    await list();
    expect(newDoubt().verdict().held).toBeDefined();
    add("new", 1);
    await w.pass(2);
    expect(newDoubt().verdict().held).toBeUndefined();
  });

  test("the mass limit's share excludes Nodes that join during a hold, until the hold has ended", async () => {
    const { w, add, put, list, mayDelete } = setUp();
    put("kept", 12);
    put("new", 20);
    add("kept", 11);
    add("gone", 3, { ready: "False" });
    await list();
    expect(mayDelete()).toBe(false);
    add("new", 20);
    await w.pass(2);
    expect(mayDelete()).toBe(false);
    // No Node requests a decision in the meantime.
    put("gone", 3);
    await list();
    for (const name of ["gone0", "gone1", "gone2"]) w.cloud.machines.delete(name);
    await list();
    expect(mayDelete()).toBe(true);
  });
});

test("a listing that lacks most machines blocks deletions, even right after a complete listing", async () => {
  const { w, add, put, list, mayDelete } = setUp();
  put("kept", 10);
  add("kept", 10);
  await list();
  w.cloud.machines.clear();
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  expect(mayDelete()).toBe(true);
  await w.pass(0.5);
  expect(mayDelete()).toBe(false);
});

test("during a hold, the cost of a decision depends on the latest changes, not on the number of Nodes", async () => {
  const { w, add, put, list, candidates, doubt } = setUp();
  const proofs = [{ kind: "listing", beganAt: 0, knownAt: 0 }] as const;
  put("n", 100);
  add("n", 200, { ready: "False" });
  await list();
  expect(doubt.verdict().held).toBeDefined();
  const check = spyOn(w.inventory, "check");
  for (let index = 100; index < 200; index += 1) {
    const name = `n${index}`;
    candidates.of(w.nodes.node(name));
    candidates.update(name, { evidence: { ...candidates.evidenceOf(name), proofs } });
    expect(doubt.verdict().held).toBeDefined();
  }
  expect(check.mock.calls.length).toBeLessThanOrEqual(200);
});

test("the incremental count equals a full count of all Nodes after every change of a Node or its evidence", async () => {
  const { w, add, put, list, candidates, doubt, history, newDoubt } = setUp();
  const random = seededRandom(3);
  put("n", 10);
  add("n", 20);
  await list();
  const proofs = [{ kind: "listing", beganAt: 0, knownAt: 0 }] as const;
  const setLabel = (name: string, account: string) =>
    w.nodes.change(name, ({ metadata, ...others }) => ({
      ...others,
      metadata: { ...metadata, labels: { account } },
    }));
  const changes: readonly ((name: string) => void)[] = [
    // A Ready Node, because any other deletion would count for ten minutes.
    (name) => {
      w.nodes.setReady(name, "True");
      w.nodes.remove(name);
      candidates.forget(name);
    },
    (name) => w.nodes.annotate(name, { "fairlead.dev/node-deletion": "never" }),
    (name) => w.nodes.annotate(name, {}),
    (name) => setLabel(name, "other"),
    (name) => setLabel(name, "this"),
    (name) =>
      w.nodes.change(name, ({ spec, ...others }) => ({ ...others, spec: { ...spec, unschedulable: true } })),
    (name) => candidates.update(name, { evidence: { ...candidates.evidenceOf(name), proofs } }),
    (name) => candidates.update(name, { evidence: undefined }),
    (name) => candidates.forget(name),
  ];
  for (let step = 0; step < 500; step += 1) {
    const name = `n${Math.floor(random.fraction() * 20)}`;
    if (w.nodes.get(name) === undefined) {
      w.nodes.add({ name, spec: { providerID: `fake://${name}` } });
    } else {
      if (random.fraction() < 0.5) candidates.of(w.nodes.node(name));
      changes[Math.floor(random.fraction() * changes.length)]?.(name);
    }
    await w.clock.advance(milliseconds(random.fraction() < 0.02 ? 2000 : 10));
    expect(doubt.counts).toEqual(newDoubt(history).counts);
  }
});
