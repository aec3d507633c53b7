// A manager takes over from another one that has settled: it changes nothing in the cloud, and writes no Node and no Service.

import { expect, test } from "bun:test";
import { differencesOf } from "./rig/compare-states.ts";
import type { State } from "./rig/compared-state.ts";
import { type Manager, managers } from "./rig/managers.ts";
import { planes, writesOf } from "./rig/planes.ts";
import { settle } from "./rig/play.ts";
import type { Step } from "./rig/scenario.ts";
import { World } from "./rig/world.ts";
import { joins } from "./scenarios/node-scenarios.ts";
import { shapes } from "./scenarios/service-scenarios.ts";

/** A manager's actions, and the differences from the state before it started. */
interface Deeds {
  readonly calls: readonly string[];
  readonly writes: readonly string[];
  readonly differences: readonly string[];
}

const nothing: Deeds = { calls: [], writes: [], differences: [] };

class Stage {
  readonly #world: World;
  #state: State = new Map();

  constructor(world: World) {
    this.#world = world;
  }

  /** Stops the manager, starts another one, and returns its actions. */
  async hand(manager: Manager): Promise<Deeds> {
    const { cloud, plane } = this.#world;
    await this.#world.stop();
    const [calls, writes] = [this.#world.calls.length, writesOf(plane).length];
    await this.#world.start(manager);
    const before = this.#state;
    const listings = ["GET /machines", "GET /balancers", "GET /routes"];
    await this.settle({
      what: "the manager lists the cloud",
      act: () => undefined,
      until: () => listings.every((listing) => cloud.seen.some(({ operation }) => operation === listing)),
    });
    const all = differencesOf(new Map([["", before]]), new Map([["", this.#state]]));
    return {
      calls: this.#world.calls.slice(calls).map(({ about, what }) => `${what} ${about}`),
      writes: writesOf(plane).slice(writes),
      differences: all.map(({ at }) => at).filter((at) => !/: (?:event|call) /.test(at)),
    };
  }

  /** Runs the steps, and waits until the manager has settled. */
  async settle(...steps: readonly Step[]): Promise<void> {
    for (const step of steps) await step.act(this.#world);
    const turns = steps.map((step) => ({ scenario: "takeover", step }));
    [this.#state = this.#state] = await settle([this.#world], turns);
    expect([...this.#state.keys()].filter((at) => at.startsWith("scenario "))).toEqual([]);
  }
}

const nodeSteps = [1, 2, 3].map((number) => {
  const range = `10.244.${number}.0/24`;
  return joins(`target-${number}`, { spec: { podCIDR: range, podCIDRs: [range] } });
});

/** A user changes a Service, creates one, deletes one, excludes a Node, and adds one. */
const changes = (turn: number): readonly Step[] => [
  {
    what: "users change much",
    act: async (world) => {
      await world.editService("local", {
        spec: { ports: [{ name: "web", port: 8000 + turn, targetPort: 8080 }] },
      });
      await world.createService(`turn-${turn}`);
      if (turn > 1) await world.deleteService(`turn-${turn - 1}`);
      const label = "node.kubernetes.io/exclude-from-external-load-balancers";
      await world.editNode("target-2", { metadata: { labels: { [label]: turn % 2 === 0 ? null : "true" } } });
      await joins(`target-${turn + 3}`).act(world);
    },
    until: async (world) => {
      const created = await world.service(`turn-${turn}`);
      const isDeleted = turn === 1 || (await world.service(`turn-${turn - 1}`)) === undefined;
      const hasJoined = (await joins(`target-${turn + 3}`).until?.(world)) === true;
      return isDeleted && hasJoined && created?.status.loadBalancer?.ingress !== undefined;
    },
  },
];

for (const [index, [title, manager]] of [
  ["its defaults", managers.fairlead] as const,
  ["the profile upstream", managers.profile] as const,
].entries()) {
  test.concurrent(`takes over from upstream and back without a change or a write, with ${title} [N26]`, async () => {
    const plane = planes()[index];
    if (plane === undefined) throw new Error(`There is no control plane ${index}.`);
    await using world = await World.open(plane);
    const stage = new Stage(world);
    await world.reset();
    await world.start(managers.upstream());
    await stage.settle(...nodeSteps);
    await stage.settle(...shapes.flatMap(({ steps }) => steps[1] ?? []));
    expect(world.calls.filter(({ what }) => what === "create").length).toBeGreaterThan(shapes.length);
    expect(await stage.hand(manager())).toEqual(nothing);
    await stage.settle(...changes(1));
    expect(await stage.hand(managers.upstream())).toEqual(nothing);
    await stage.settle(...changes(2));
    expect(await stage.hand(manager())).toEqual(nothing);
  });
}
