// The contract of a provider that adopts existing load balancers: it adopts only the load balancer that a Service names, creates
// no second one, reaches the same end state after any fault, and can release it. Runs for providers with `adopts`.

import { expect, test } from "bun:test";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { converge, crashAt } from "./converge.ts";
import { balancerTargets, type DesiredOptions, labWithTargets, makeDesired } from "./desired.ts";
import { expectSameEndAfterCrashes, expectSameEndAfterFaults } from "./end-states.ts";
import { faultKinds } from "./faulty-transport.ts";
import { Lab } from "./lab.ts";
import { type Desired, listBalancers } from "./plan-inputs.ts";
import type { Harness } from "./simulated-cloud.ts";

type World = ReturnType<typeof createWorld>;

function createWorld(harness: Harness) {
  const lab = labWithTargets(harness);
  const targets = balancerTargets(harness).slice(0, 1);
  const id = lab.simulated.addUnmarkedBalancer?.();
  const annotations = harness.adoptionAnnotations?.(id ?? "");
  if (id === undefined || annotations === undefined) {
    throw new Error(
      "This provider has `adopts`, so its harness needs `addUnmarkedBalancer` and `adoptionAnnotations`.",
    );
  }
  /** A Service without the adoption annotations. */
  const desired = (options: Partial<DesiredOptions> = {}) =>
    makeDesired(harness, { name: "web", targets, ...options });
  return { lab, desired, adopting: desired({ annotations }), heir: desired({ name: "heir", annotations }) };
}

const listOf = ({ lab }: World): Promise<readonly ObservedLoadBalancer[]> => listBalancers(lab);

/** Excludes load balancers of other clusters. */
async function ownershipOf(world: World): Promise<readonly unknown[]> {
  const own = (await listOf(world)).filter(({ ownership }) => ownership !== "foreign");
  return own.map(({ ownership, owners }) => [ownership, owners]);
}

export function adoptionConformance(harness: Harness): void {
  const fresh = () => createWorld(harness);
  const endOf = async ({ lab }: World, desired: Desired): Promise<string> => {
    await converge(lab, [desired]);
    return lab.state;
  };
  test("adopts the load balancer that a Service names without creating a second one [F39]", async () => {
    const world = fresh();
    expect(await ownershipOf(world)).toEqual([["unmarked", []]]);
    const { observed, planned } = await converge(world.lab, [world.adopting]);
    expect(await ownershipOf(world)).toEqual([["ours", [world.adopting.owner.uid]]]);
    const [desired] = planned.values();
    const publication =
      desired && world.lab.cloud.loadBalancers?.publish(desired, observed.get(desired.owner.uid));
    expect(publication?.kind).not.toBe("wait");
  });

  test("leaves an unmarked load balancer unchanged when no Service names it", async () => {
    const world = fresh();
    const before = world.lab.state;
    await converge(world.lab, [world.desired()]);
    expect((await listOf(world)).filter(({ ownership }) => ownership === "unmarked")).toHaveLength(1);
    await converge(world.lab, [world.desired({ ending: "delete" })]);
    expect(world.lab.state).toBe(before);
  });

  test("changes nothing when a Service is deleted before its load balancer was adopted", async () => {
    const world = fresh();
    await converge(world.lab, [{ ...world.adopting, ending: "delete" }]);
    expect(world.lab.mutations).toBe(0);
  });

  test("changes nothing after the adoption, even after a restart", async () => {
    const world = fresh();
    await converge(world.lab, [world.adopting]);
    const before = world.lab.mutations;
    world.lab.connect();
    expect((await converge(world.lab, [world.adopting])).steps).toBe(0);
    expect(world.lab.mutations).toBe(before);
  });

  if (new Lab(harness).cloud.loadBalancers?.supports?.includes("release") === true) {
    test("releases a load balancer without its marks, so that another Service can adopt it unchanged [F41]", async () => {
      const world = fresh();
      await converge(world.lab, [world.adopting]);
      const adopted = world.lab.state;
      const released = { ...world.adopting, ending: "release" } as const;
      await converge(world.lab, [released]);
      expect(await ownershipOf(world)).toEqual([["unmarked", []]]);
      const before = world.lab.mutations;
      expect((await converge(world.lab, [released])).steps).toBe(0);
      world.lab.connect();
      expect((await converge(world.lab, [world.desired({ ending: "delete" })])).steps).toBe(0);
      expect(world.lab.mutations).toBe(before);
      const { heir } = world;
      await converge(world.lab, [heir]);
      expect(await ownershipOf(world)).toEqual([["ours", [heir.owner.uid]]]);
      expect(world.lab.state.replaceAll(heir.owner.uid, world.adopting.owner.uid)).toBe(adopted);
    });

    test.each(faultKinds)(
      "reaches the same end state of a release with a %p fault at every operation",
      async (kind) => {
        const adopted = async () => {
          const world = fresh();
          await converge(world.lab, [world.adopting]);
          return world;
        };
        await expectSameEndAfterFaults(kind, adopted, (world) =>
          endOf(world, { ...world.adopting, ending: "release" }),
        );
      },
    );
  }

  test.each(faultKinds)(
    "reaches the same end state of an adoption with a %p fault at every operation",
    (kind) => expectSameEndAfterFaults(kind, fresh, (world) => endOf(world, world.adopting)),
  );

  test("reaches the same end state of an adoption after a crash at any step", () =>
    expectSameEndAfterCrashes(fresh, ["adoption"], async ({ lab, adopting }, _, atStep) => {
      const { steps } = await converge(lab, [adopting], crashAt(atStep, "before-facts"));
      return steps;
    }));
}
