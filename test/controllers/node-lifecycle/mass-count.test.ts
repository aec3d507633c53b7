import { describe, expect, test } from "bun:test";
import { Candidates } from "../../../src/controllers/node-lifecycle/candidates.ts";
import { createMassCount } from "../../../src/controllers/node-lifecycle/mass-count.ts";
import { massLimit } from "../../../src/controllers/node-lifecycle/mass-limit.ts";
import { lifecycleDefaults } from "../../../src/controllers/node-lifecycle/settings.ts";
import { PendingLookups } from "../../../src/controllers/pending-lookups.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

interface Draft {
  readonly ready?: "True" | "False";
  readonly hasID?: boolean;
  readonly account?: string;
}

/** Nodes and a cloud without anybody who works on them, and the count over both. */
const setUp = () => {
  const w = new NodeControllers();
  const { clock, inventory } = w;
  const candidates = new Candidates(clock, new PendingLookups(inventory, clock));
  const count = createMassCount(
    {
      ...{ nodes: w.nodes.store, writes: w.nodes.writes, inventory, clock, random: seededRandom(1) },
      ...{ report: () => undefined, note: () => undefined, isSelected: () => true, concurrency: 1 },
      settings: lifecycleDefaults,
    },
    candidates,
    (node) => node.metadata.labels?.["account"] !== "theirs",
  );
  count.follow();
  inventory.subscribe(count.recount);
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
    inventory.wantListing(clock.monotonic(), "refresh");
    await w.pass(1);
  };
  const remove = (prefix: string, amount: number) => {
    for (let index = 0; index < amount; index += 1) w.nodes.remove(`${prefix}${index}`);
  };
  return { ...w, w, add, put, list, remove, mayDelete: () => count.decision().mayDelete };
};

describe("what counts as a node that went unannounced", () => {
  test("not a Ready one that somebody deleted: a pool that was scaled down by hand holds back nobody", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 7);
    add("kept", 7);
    add("ready", 3);
    remove("ready", 3);
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("one that was deleted while not Ready, by whomever", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 7);
    add("kept", 7);
    add("lost", 3, { ready: "False" });
    remove("lost", 3);
    await list();
    expect(mayDelete()).toBe(false);
  });

  test("one that was made anew under its name before anybody was told that it went", async () => {
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

  test("not one of another account: what happens there says nothing about our cloud", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 7);
    add("kept", 7);
    add("their", 3, { ready: "False", account: "theirs" });
    remove("their", 3);
    await list();
    expect(mayDelete()).toBe(true);
  });
});

describe("what counts as a node that looks gone", () => {
  test("not a Ready one without provider id: its machine may not be visible yet, and holds back nobody", async () => {
    const { add, list, mayDelete } = setUp();
    add("young", 5, { hasID: false });
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("not one of another account", async () => {
    const { add, list, mayDelete } = setUp();
    add("their", 5, { account: "theirs" });
    await list();
    expect(mayDelete()).toBe(true);
  });
});

describe("of how many a fifth may go", () => {
  test("of those without provider id too", async () => {
    const { add, list, mayDelete } = setUp();
    add("young", 12, { hasID: false });
    add("gone", 3);
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("of those that were there before the first ones went: the last of a fifth goes as the first did", async () => {
    const { add, put, list, remove, mayDelete } = setUp();
    put("kept", 12);
    add("kept", 12);
    add("gone", 3, { ready: "False" });
    remove("gone", 1);
    await list();
    expect(mayDelete()).toBe(true);
  });

  test("of those that are there now, though the cloud has told nothing new since some joined", async () => {
    const { w, add, put, list, mayDelete } = setUp();
    put("kept", 12);
    put("new", 1);
    add("kept", 11);
    add("gone", 3);
    await list();
    expect(mayDelete()).toBe(false);
    add("new", 1);
    await w.pass(2);
    expect(mayDelete()).toBe(true);
  });

  test("of which no part is rounded up", () => {
    const state = { recent: 0, candidates: 3, managed: 14 };
    expect(massLimit(state, lifecycleDefaults.massLimit).mayDelete).toBe(false);
    expect(massLimit({ ...state, managed: 15 }, lifecycleDefaults.massLimit).mayDelete).toBe(true);
  });
});

test("a listing without most machines is believed about nobody, however short a time ago they were counted", async () => {
  const { w, add, put, list, mayDelete } = setUp();
  put("kept", 10);
  add("kept", 10);
  await list();
  w.cloud.machines.clear();
  w.inventory.wantListing(w.clock.monotonic(), "refresh");
  expect(mayDelete()).toBe(true);
  await w.pass(0.5);
  expect(mayDelete()).toBe(false);
});
