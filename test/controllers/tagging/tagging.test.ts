import { afterEach, expect, test } from "bun:test";
import { journalledSend } from "../../../src/controllers/kernel/journalled-send.ts";
import { TaggingController, type TaggingDeps } from "../../../src/controllers/tagging/controller.ts";
import { TaggingHistory } from "../../../src/controllers/tagging/history.ts";
import { messageIn } from "../../../src/core/problem.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import { Journal } from "../../../src/runtime/journal.ts";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine, outage } from "../../support/scripted-source.ts";

// What the tagging controller keeps and forgets when another leadership session of the same process begins.

const label = { key: "tags", value: "a" };

class World {
  readonly at = new NodeControllers({ machines: ["n0", "n1"].map((name) => machine(name)) });
  /** Requests such as "add n0,n1". */
  readonly requests: string[] = [];
  readonly events: string[] = [];
  failure: Error | undefined;
  formerLeaders = 0;
  readonly #compose: () => TaggingController;
  #session = new AbortController();
  #ended: Promise<void> | undefined;

  constructor() {
    const { clock, inventory, nodes } = this.at;
    const request = async (what: string, keys: readonly string[]): Promise<void> => {
      this.requests.push(`${what} ${keys.toSorted().join(",")}`);
      if (this.failure !== undefined) throw this.failure;
    };
    const deps: TaggingDeps = {
      clock,
      inventory,
      nodes: nodes.store,
      writes: nodes.writes,
      random: seededRandom(1),
      isSelected: () => true,
      tags: {
        label,
        limit: 10,
        add: (keys) => request("add", keys),
        remove: (keys) => request("remove", keys),
      },
      send: journalledSend({ journal: new Journal(), clock, mode: "enforce" }, "cloud", () => false),
      reportTags: (problem) => this.events.push(messageIn(problem)),
    };
    const formerLeaders = () => this.formerLeaders;
    const history = new TaggingHistory({
      nodes: nodes.store,
      inventory,
      isSelected: () => true,
      formerLeaders,
    });
    this.#compose = () => new TaggingController(deps, history);
    for (const name of ["n0", "n1"])
      nodes.add({ name, spec: { providerID: `fake://${name}` }, createdAt: clock.now() - 3_600_000 });
  }

  start(): void {
    this.#session = new AbortController();
    this.#ended = this.#compose().run(this.#session.signal);
  }

  async end(): Promise<void> {
    this.#session.abort();
    await this.#ended;
  }
}

let world: World | undefined;
afterEach(async () => {
  await world?.end();
  await world?.at.stop();
});
const open = (): World => {
  world = new World();
  world.start();
  return world;
};

test("the next leadership session removes the tags of a Node that was deleted between the sessions", async () => {
  const w = open();
  await w.at.pass(5);
  expect(w.requests).toEqual(["add n0,n1"]);
  await w.end();
  w.at.nodes.remove("n0");
  w.start();
  await w.at.pass(5);
  expect(w.requests.slice(1)).toEqual(["remove n0"]);
});

test("the next leadership session sends nothing for a Node that was deleted while another replica led", async () => {
  const w = open();
  await w.at.pass(5);
  await w.end();
  w.formerLeaders += 1;
  w.at.nodes.remove("n0");
  w.formerLeaders += 1;
  w.start();
  await w.at.pass(60);
  expect(w.requests).toEqual(["add n0,n1"]);
});

test("the next leadership session removes tags that the last session could not remove, and reports an error once", async () => {
  const w = open();
  await w.at.pass(5);
  w.failure = outage("DELETE /tags");
  w.at.nodes.remove("n0");
  await w.at.pass(10);
  await w.end();
  w.start();
  await w.at.pass(5);
  expect(w.events).toEqual([expect.stringContaining("The tags of machines are not complete")]);
  w.failure = undefined;
  await w.at.pass(600);
  expect(w.requests.at(-1)).toBe("remove n0");
  const { length } = w.requests;
  await w.at.pass(600);
  expect(w.requests).toHaveLength(length);
});

test("the next leadership session retries a machine that did not exist before", async () => {
  const w = open();
  w.failure = new CloudError("not-found", "unknown machine", { operation: "POST /tags" });
  await w.at.pass(600);
  const before = w.requests.length;
  w.at.nodes.annotate("n0", { any: "change" });
  await w.at.pass(60);
  expect(w.requests).toHaveLength(before);
  await w.end();
  w.failure = undefined;
  w.start();
  await w.at.pass(5);
  expect(w.requests.slice(before)).toEqual(["add n0,n1"]);
});
