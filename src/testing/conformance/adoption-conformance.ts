// What every provider that takes over balancers must keep to: only the one that is named, never a second one beside it, one
// end whatever goes wrong on the way, and it can be given back. Called for those that have `adopts`.

import { expect, test } from "bun:test";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { Crash, converge, type Memory } from "./balancer-driver.ts";
import { faultHows } from "./faulty-transport.ts";
import { collect, Lab } from "./lab.ts";
import { type DesiredWords, makeDesired, targetOf } from "./make-desired.ts";
import type { Harness } from "./simulated-cloud.ts";

const targets = [targetOf("node-1", "machines", "1")];

export function adoptionConformance(harness: Harness): void {
  const fresh = () => {
    const lab = new Lab(harness);
    const id = lab.simulated.addUnmarkedBalancer?.();
    const says = harness.adopting?.(id ?? "");
    if (id === undefined || says === undefined) {
      throw new Error("This provider has `adopts`: its harness needs `addUnmarkedBalancer` and `adopting`.");
    }
    const memory: Memory = new Map();
    const desired = (words: Partial<DesiredWords> = {}) =>
      makeDesired(harness, { name: "web", targets, ...words });
    return { lab, memory, says, plain: desired(), naming: desired({ annotations: says }), desired };
  };
  type World = ReturnType<typeof fresh>;
  const stateOf = ({ lab }: World): string => JSON.stringify(lab.simulated.state());
  const listOf = async ({ lab }: World): Promise<readonly ObservedLoadBalancer[]> =>
    lab.run(async (call) => {
      const { loadBalancers } = lab.cloud;
      return loadBalancers === undefined ? [] : (await collect(loadBalancers.list(call))).flat();
    });
  const adoptedState = async (): Promise<string> => {
    const world = fresh();
    await converge(world, [world.naming]);
    return stateOf(world);
  };

  test("takes over the balancer that a Service names, and makes none beside it [F39]", async () => {
    const world = fresh();
    const before = await listOf(world);
    expect(before.map(({ ownership, owners }) => [ownership, owners])).toEqual([["unmarked", []]]);
    const { observed, members } = await converge(world, [world.naming]);
    const after = await listOf(world);
    const { uid } = world.naming.owner;
    expect(after.map(({ ownership, owners }) => [ownership, owners])).toEqual([["ours", [uid]]]);
    const [[group = "", [member] = []] = []] = members;
    const shown = member && world.lab.cloud.loadBalancers?.publish(member, observed.get(group));
    expect(shown?.kind).not.toBe("wait");
  });

  test("leaves it alone while nobody names it, also when others come and go", async () => {
    const world = fresh();
    const before = stateOf(world);
    await converge(world, [world.plain]);
    expect((await listOf(world)).filter(({ ownership }) => ownership === "unmarked")).toHaveLength(1);
    await converge(world, [world.desired({ ending: "delete" })]);
    expect(stateOf(world)).toBe(before);
  });

  test("does nothing for a Service that names it and goes before it had it", async () => {
    const world = fresh();
    await converge(world, [{ ...world.naming, ending: "delete" }]);
    expect(world.lab.mutations).toBe(0);
  });

  test("does nothing once adopted, nor after a restart", async () => {
    const world = fresh();
    await converge(world, [world.naming]);
    const before = world.lab.mutations;
    world.lab.connect();
    expect((await converge(world, [world.naming])).steps).toBe(0);
    expect(world.lab.mutations).toBe(before);
  });

  const ownershipOf = async (world: World) =>
    (await listOf(world)).map(({ ownership, owners }) => [ownership, owners]);
  if (new Lab(harness).cloud.loadBalancers?.releases === true) {
    test("is given back without our mark, and taken over by another Service as it was: a transfer [F41]", async () => {
      const world = fresh();
      await converge(world, [world.naming]);
      const adopted = stateOf(world);
      const released = { ...world.naming, ending: "release" } as const;
      await converge(world, [released]);
      expect(await ownershipOf(world)).toEqual([["unmarked", []]]);
      const before = world.lab.mutations;
      expect((await converge(world, [released])).steps).toBe(0);
      world.lab.connect();
      expect((await converge(world, [world.desired({ ending: "delete" })])).steps).toBe(0);
      expect(world.lab.mutations).toBe(before);
      const heir = world.desired({ name: "heir", annotations: world.says });
      await converge(world, [heir]);
      expect(await ownershipOf(world)).toEqual([["ours", [heir.owner.uid]]]);
      expect(stateOf(world).replaceAll(heir.owner.uid, world.naming.owner.uid)).toBe(adopted);
    });

    test.each(faultHows)("is given back to the same end with %p at any request", async (how) => {
      const run = async (position?: number) => {
        const world = fresh();
        await converge(world, [world.naming]);
        const first = world.lab.requests.length;
        if (position !== undefined) world.lab.faulty.failAt(position, how);
        await converge(world, [{ ...world.naming, ending: "release" }]);
        return { state: stateOf(world), requests: world.lab.requests.length - first };
      };
      const { state: expected } = await run();
      for (let position = 0, isReached = true; isReached; position++) {
        const { state, requests } = await run(position);
        isReached = requests > position;
        expect({ position, state }).toEqual({ position, state: expected });
      }
    });
  }

  test.each(faultHows)("adopts to the same end with %p at any request", async (how) => {
    const expected = await adoptedState();
    for (let position = 0, isReached = true; isReached; position++) {
      const world = fresh();
      world.lab.faulty.failAt(position, how);
      await converge(world, [world.naming]);
      isReached = world.lab.requests.length > position;
      expect({ position, state: stateOf(world) }).toEqual({ position, state: expected });
    }
  });

  test("adopts to the same end after a crash of any step", async () => {
    const expected = await adoptedState();
    for (let atStep = 0, hasCrashed = true; hasCrashed; atStep++) {
      const world = fresh();
      const crash = { atStep, when: "before-facts" } as const;
      hasCrashed = await converge({ ...world, crash }, [world.naming]).then(
        () => false,
        (error) => {
          if (error instanceof Crash) return true;
          throw error;
        },
      );
      world.lab.connect();
      await converge(world, [world.naming]);
      expect({ atStep, state: stateOf(world) }).toEqual({ atStep, state: expected });
    }
  });
}
