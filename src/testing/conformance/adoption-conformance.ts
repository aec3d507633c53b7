// The contract of a provider that adopts existing load balancers: it adopts only the one that a Service names,
// creates no second one, reaches the same end state after any fault, and can release it. Called for providers that
// have `adopts`.

import { expect, test } from "bun:test";
import { milliseconds } from "../../core/brand.ts";
import type { Fields } from "../../core/settings.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { converge, crashes } from "./converge.ts";
import { listBalancers, type SavedFacts } from "./converge-groups.ts";
import { faultKinds, faultPositions } from "./faulty-transport.ts";
import { Lab } from "./lab.ts";
import { type DesiredOptions, makeDesired } from "./make-desired.ts";
import type { Harness } from "./simulated-cloud.ts";
import { balancerTargets, labWithTargets } from "./targets.ts";

interface World {
  readonly lab: Lab;
  readonly savedFacts: SavedFacts;
  readonly adoptionAnnotations: Readonly<Record<string, string>>;
  /** The Service without the adoption annotations, and with them. */
  readonly plain: DesiredLoadBalancer<Fields>;
  readonly adopting: DesiredLoadBalancer<Fields>;
  desired(options?: Partial<DesiredOptions>): DesiredLoadBalancer<Fields>;
}

function createWorld(harness: Harness): World {
  const lab = labWithTargets(harness);
  const targets = balancerTargets(harness).slice(0, 1);
  const id = lab.simulated.addUnmarkedBalancer?.();
  const adoptionAnnotations = harness.adoptionAnnotations?.(id ?? "");
  if (id === undefined || adoptionAnnotations === undefined) {
    throw new Error(
      "This provider has `adopts`, so its harness needs `addUnmarkedBalancer` and `adoptionAnnotations`.",
    );
  }
  const desired = (options: Partial<DesiredOptions> = {}) =>
    makeDesired(harness, { name: "web", targets, ...options });
  return {
    lab,
    savedFacts: new Map(),
    adoptionAnnotations,
    plain: desired(),
    adopting: desired({ annotations: adoptionAnnotations }),
    desired,
  };
}

function stateOf({ lab }: World): string {
  return lab.state;
}

/** What is listed when all changes are shown. */
async function listOf({ lab }: World): Promise<readonly ObservedLoadBalancer[]> {
  await lab.clock.advance(lab.cloud.loadBalancers?.readsLag ?? milliseconds(0));
  return listBalancers(lab);
}

/** Without load balancers of other clusters. */
async function ownershipOf(world: World): Promise<readonly unknown[]> {
  const own = (await listOf(world)).filter(({ ownership }) => ownership !== "foreign");
  return own.map(({ ownership, owners }) => [ownership, owners]);
}

export function adoptionConformance(harness: Harness): void {
  const fresh = () => createWorld(harness);
  const adoptedState = async (): Promise<string> => {
    const world = fresh();
    await converge(world, [world.adopting]);
    return stateOf(world);
  };

  test("adopts the load balancer that a Service names, and creates no second one [F39]", async () => {
    const world = fresh();
    expect(await ownershipOf(world)).toEqual([["unmarked", []]]);
    const { observed, members } = await converge(world, [world.adopting]);
    expect(await ownershipOf(world)).toEqual([["ours", [world.adopting.owner.uid]]]);
    const [[group = "", [member] = []] = []] = members;
    const publication = member && world.lab.cloud.loadBalancers?.publish(member, observed.get(group));
    expect(publication?.kind).not.toBe("wait");
  });

  test("leaves an unmarked load balancer alone when no Service names it", async () => {
    const world = fresh();
    const before = stateOf(world);
    await converge(world, [world.plain]);
    expect((await listOf(world)).filter(({ ownership }) => ownership === "unmarked")).toHaveLength(1);
    await converge(world, [world.desired({ ending: "delete" })]);
    expect(stateOf(world)).toBe(before);
  });

  test("changes nothing when a Service is deleted before its load balancer was adopted", async () => {
    const world = fresh();
    await converge(world, [{ ...world.adopting, ending: "delete" }]);
    expect(world.lab.mutations).toBe(0);
  });

  test("changes nothing after the adoption, also after a restart", async () => {
    const world = fresh();
    await converge(world, [world.adopting]);
    const before = world.lab.mutations;
    world.lab.connect();
    expect((await converge(world, [world.adopting])).steps).toBe(0);
    expect(world.lab.mutations).toBe(before);
  });

  if (new Lab(harness).cloud.loadBalancers?.releases === true) {
    test("releases a load balancer without its marks, so that another Service can adopt it unchanged [F41]", async () => {
      const world = fresh();
      await converge(world, [world.adopting]);
      const adopted = stateOf(world);
      const released = { ...world.adopting, ending: "release" } as const;
      await converge(world, [released]);
      expect(await ownershipOf(world)).toEqual([["unmarked", []]]);
      const before = world.lab.mutations;
      expect((await converge(world, [released])).steps).toBe(0);
      world.lab.connect();
      expect((await converge(world, [world.desired({ ending: "delete" })])).steps).toBe(0);
      expect(world.lab.mutations).toBe(before);
      const heir = world.desired({ name: "heir", annotations: world.adoptionAnnotations });
      await converge(world, [heir]);
      expect(await ownershipOf(world)).toEqual([["ours", [heir.owner.uid]]]);
      expect(stateOf(world).replaceAll(heir.owner.uid, world.adopting.owner.uid)).toBe(adopted);
    });

    test.each(faultKinds)(
      "a release reaches the same end state with a %p fault at every operation",
      async (kind) => {
        const run = async (position?: number) => {
          const world = fresh();
          await converge(world, [world.adopting]);
          const first = world.lab.requests.length;
          if (position !== undefined) world.lab.faulty.failAt(position, kind);
          await converge(world, [{ ...world.adopting, ending: "release" }]);
          return { state: stateOf(world), requests: world.lab.requests.slice(first) };
        };
        const clean = await run();
        for (const position of faultPositions(clean.requests, kind)) {
          expect({ position, state: (await run(position)).state }).toEqual({ position, state: clean.state });
        }
      },
    );
  }

  test.each(faultKinds)(
    "an adoption reaches the same end state with a %p fault at every operation",
    async (kind) => {
      const clean = fresh();
      await converge(clean, [clean.adopting]);
      for (const position of faultPositions(clean.lab.requests, kind)) {
        const world = fresh();
        world.lab.faulty.failAt(position, kind);
        await converge(world, [world.adopting]);
        expect({ position, state: stateOf(world) }).toEqual({ position, state: stateOf(clean) });
      }
    },
  );

  test("an adoption reaches the same end state after a crash at any step", async () => {
    const expected = await adoptedState();
    for (let atStep = 0, hasCrashed = true; hasCrashed; atStep++) {
      const world = fresh();
      const crash = { atStep, when: "before-facts" } as const;
      hasCrashed = await crashes(converge({ ...world, crash }, [world.adopting]));
      world.lab.connect();
      await converge(world, [world.adopting]);
      expect({ atStep, state: stateOf(world) }).toEqual({ atStep, state: expected });
    }
  });
}
