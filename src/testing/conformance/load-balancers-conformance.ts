// The contract of a provider's load balancers: the same end state after any fault, no changes once converged, nothing
// left after deletion, and no change to load balancers of other owners.

import { describe, expect, test } from "bun:test";
import { mergeObserved, unreadable } from "../../controllers/service/annotations/annotations.ts";
import type { Cidr } from "../../core/brand.ts";
import type { Fields } from "../../core/settings.ts";
import { VirtualClock } from "../virtual-time/virtual-clock.ts";
import { adoptionConformance } from "./adoption-conformance.ts";
import { balancerListingConformance, type Phases } from "./balancer-listings-conformance.ts";
import { converge, crashAt } from "./converge.ts";
import {
  balancerTargets,
  type DesiredOptions,
  labWithTargets,
  makeDesired,
  partsOf,
  targetMachines,
} from "./desired.ts";
import { expectSameEndAfterCrashes, expectSameEndAfterFaults } from "./end-states.ts";
import { manyRuns, readFaultKinds } from "./faulty-transport.ts";
import { handlesConformance } from "./handles-conformance.ts";
import type { Lab } from "./lab.ts";
import { operationsConformance } from "./operations-conformance.ts";
import { listBalancers, sharedPrefetch } from "./plan-inputs.ts";
import type { Harness } from "./simulated-cloud.ts";

/** Runs the contract of `loadBalancers` as bun tests. Call it at the top level of a test file. */
export function loadBalancersConformance(
  name: string,
  harness: Harness,
  /** Annotations for every Service, such as annotations that make them share a load balancer. */
  annotations: Readonly<Record<string, string>> = {},
): void {
  const targets = balancerTargets(harness);
  const desired = (options: DesiredOptions) => makeDesired(harness, { annotations, ...options });
  const first = [
    desired({ name: "web", ports: [80, 443], targets: targets.slice(0, 2) }),
    desired({ name: "mail", ports: [25], targets }),
  ];
  const second = [
    desired({ name: "web", ports: [80, 8443], targets: targets.slice(1) }),
    desired({ name: "mail", ports: [25], targets: [] }),
  ];
  const gone = [
    desired({ name: "web", ports: [80, 8443], ending: "delete" }),
    desired({ name: "mail", ending: "delete" }),
  ];

  const phases = [first, second, gone];
  const fresh = () => labWithTargets(harness);
  const freshWorld = () => ({ lab: fresh() });

  /** Creates, changes and deletes two Services; returns the cloud's state after each phase. */
  const live = async ({ lab }: { readonly lab: Lab }): Promise<string[]> => {
    const states: string[] = [];
    for (const desired of phases) {
      await converge(lab, desired);
      states.push(lab.state);
    }
    return states;
  };

  const { loadBalancers: parts, pending } = partsOf(harness);

  describe(`${name}: load balancers`, () => {
    if (parts?.adopts !== undefined) adoptionConformance(harness);
    if (parts !== undefined && pending !== undefined) operationsConformance(harness);
    if (parts?.prefetch !== undefined) {
      test("plans the same with a shared prefetch as with a separate one, and prefetches without changing anything", async () => {
        const lab = fresh();
        const plans = async (desired: typeof first): Promise<readonly unknown[]> => {
          const prefetch = sharedPrefetch(lab);
          return Promise.all(
            desired.map(async (one) => {
              const prefetched = await prefetch(one);
              expect(prefetched).toBeDefined();
              return lab.loadBalancers.plan(one, undefined, prefetched);
            }),
          );
        };
        const alone = [...(await plans(first.slice(0, 1))), ...(await plans(first.slice(1)))];
        expect(await plans(first)).toEqual(alone);
        expect([lab.mutations, lab.undeclaredMutations, lab.leakedListeners]).toEqual([0, [], 0]);
      });
    }

    if (parts?.needsHandles === false) handlesConformance(name, harness, annotations);
    balancerListingConformance(harness, { first, second, gone });
    refusalsConformance(harness, { first, second, gone });

    test("creates, updates and deletes load balancers, and leaves nothing behind", async () => {
      const lab = fresh();
      const before = lab.state;
      const [made, changed, removed] = await live({ lab });
      expect(made).not.toBe(before);
      expect(changed).not.toBe(made);
      expect(removed).toBe(before);
      expect([lab.undeclaredMutations, lab.leakedListeners]).toEqual([[], 0]);
    });

    // Otherwise, tests of targets would test nothing.
    test("reaches the targets of the harness: with fewer targets, a load balancer ends in a different state", async () => {
      const states: string[] = [];
      for (const some of [targets, targets.slice(1)]) {
        const lab = fresh();
        await converge(lab, [desired({ name: "web", targets: some })]);
        states.push(lab.state);
      }
      expect(states[1]).not.toBe(states[0] as string);
    });

    test("changes nothing once converged, even after a restart", async () => {
      const lab = fresh();
      await converge(lab, first);
      const before = lab.mutations;
      expect((await converge(lab, first)).steps).toBe(0);
      lab.connect();
      expect((await converge(lab, first)).steps).toBe(0);
      expect(lab.mutations).toBe(before);
    });

    // The framework compares each listing with the previous one, so large listings block the event loop.
    test("grows listings linearly: three load balancers have at most three times the values of one, excluding shared values", async () => {
      const sizes: number[] = [];
      for (const names of [["web"], ["web", "mail", "shop"]]) {
        const lab = fresh();
        await converge(
          lab,
          names.map((one) => desired({ name: one, targets })),
        );
        sizes.push(comparedIn(await listBalancers(lab)));
      }
      const [one = 0, three = 0] = sizes;
      expect(three).toBeLessThanOrEqual(3 * one);
    });

    test("reaches the same state for a Service that dropped its source ranges as for one that never had any", async () => {
      const states: string[] = [];
      for (const sourceRanges of [undefined, ["198.51.100.0/24", "203.0.113.0/24"]]) {
        const lab = fresh();
        const web = { name: "web", targets: targets.slice(0, 2) };
        if (sourceRanges !== undefined) await converge(lab, [desired({ ...web, sourceRanges })]);
        await converge(lab, [desired(web)]);
        states.push(lab.state);
      }
      expect(states[1]).toBe(states[0] as string);
    });

    test.each([
      ["sourceRanges", { sourceRanges: ["198.51.100.0/24" as Cidr] }],
      ["sessionAffinity", { sessionAffinitySeconds: 600 }],
    ] as const)("declares in `supports` whether its plans apply %s", async (feature, request) => {
      const states: string[] = [];
      for (const changes of [{}, request]) {
        const lab = fresh();
        const web = desired({ name: "web", targets: targets.slice(0, 2) });
        await converge(lab, [{ ...web, ...changes }]);
        states.push(lab.state);
      }
      expect(states[1] !== states[0]).toBe(parts?.supports?.includes(feature) === true);
    });

    test("applies target changes alone, if steps have a part for them, and changes nothing else", async () => {
      const web = (ports: readonly number[], some: typeof targets) => [
        desired({ name: "web", ports, targets: some }),
      ];
      const [run, expected] = [fresh(), fresh()];
      for (const lab of [run, expected]) await converge(lab, web([80], targets.slice(0, 2)));
      const before = run.state;
      await converge(run, web([80, 8443], targets.slice(0, 2)), { onlyTargets: true });
      expect(run.state).toBe(before);
      const { steps } = await converge(run, web([80, 8443], targets.slice(1)), { onlyTargets: true });
      // A cloud without such parts cannot change targets independently.
      if (steps > 0) await converge(expected, web([80], targets.slice(1)));
      expect(run.state).toBe(expected.state);
      const all = await converge(expected, web([80], targets));
      const alone = await converge(run, web([80], targets), { onlyTargets: true });
      expect([0, all.steps]).toContain(alone.steps);
    });

    test("publishes addresses once converged, or declares that it does not own the status", async () => {
      const lab = fresh();
      const { observed, planned } = await converge(lab, first);
      for (const [uid, desired] of planned) {
        const publication = lab.loadBalancers.publish(desired, observed.get(uid));
        expect(publication?.kind).not.toBe("wait");
      }
    });

    test("never lists load balancers of another cluster as its own or as adoptable", async () => {
      const lab = fresh();
      const cluster = await converge(lab, first);
      const owners = first.map(({ owner }) => owner.uid);
      lab.connect("another");
      const all = await listBalancers(lab);
      const listed = all.filter((balancer) => balancer.owners.some((uid) => owners.includes(uid)));
      expect(cluster.observed.size).toBeGreaterThan(0);
      // A mark without the cluster does not show this, but nothing is changed for an owner that is not in this cluster.
      const isNamed = lab.loadBalancers.marksNameCluster === undefined;
      for (const { ownership, clusterUID, cluster: name = "conformance" } of listed) {
        const isForeign = isNamed || clusterUID !== undefined;
        expect([ownership, name]).toEqual([isForeign ? "foreign" : "ours", "conformance"]);
      }
    });

    test("returns every setting that cannot be changed in `settingsOf`", async () => {
      const lab = fresh();
      const { observed } = await converge(lab, first);
      const { fields = {} } = harness.definition.annotations ?? {};
      for (const [uid, balancer] of observed) {
        const settings = balancer && lab.loadBalancers.settingsOf?.(balancer, uid, []);
        expect(unobservedSettings(fields, settings)).toEqual([]);
      }
    });

    test("changes neither an existing load balancer nor its addresses while an annotation is invalid", async () => {
      const fields: Fields = harness.definition.annotations?.fields ?? {};
      // Every value of each annotation with a fixed set of values.
      const values = Object.entries(fields).flatMap(([name, { choices, kind }]) =>
        (choices ?? (kind === "switch" ? ["true"] : [])).map((value) => ({ [name]: value })),
      );
      for (const own of [{}, ...values]) {
        const lab = fresh();
        const web = desired({ name: "web", ports: [80, 443], annotations: { ...annotations, ...own } });
        const { observed, planned } = await converge(lab, [{ ...web, targets }]);
        const [member = web] = planned.values();
        const prefetched = await sharedPrefetch(lab)(member);
        const [balancer] = observed.values();
        const publication = lab.loadBalancers.publish(member, balancer);
        const addresses = publication.kind === "addresses" ? publication.addresses : [];
        const published = addresses.flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
        const current = balancer && lab.loadBalancers.settingsOf?.(balancer, member.owner.uid, published);
        for (const [invalid, field] of Object.entries(fields)) {
          const frozen = new Set([invalid]);
          if ("value" in field.parse("(") || unreadable(frozen, current).length > 0) continue;
          const settings = mergeObserved(member.settings, frozen, current);
          const kept = { ...member, settings };
          const { steps } = lab.loadBalancers.plan(kept, balancer, prefetched);
          const found = { own, invalid, steps, publication: lab.loadBalancers.publish(kept, balancer) };
          expect(found).toEqual({ own, invalid, steps: [], publication });
        }
      }
    });

    test("publishes nothing while there is no load balancer", () => {
      const [member] = first;
      const publication = member && fresh().loadBalancers.publish(member, undefined);
      expect(publication?.kind).toBe("wait");
    });

    test("plans nothing for a Service that is deleted before its load balancer exists", async () => {
      const lab = fresh();
      expect((await converge(lab, gone)).steps).toBe(0);
      expect(lab.mutations).toBe(0);
    });

    test("keeps the parts of an owner that is not known to be deleted", async () => {
      const lab = fresh();
      await converge(lab, first);
      const before = lab.state;
      for (const [index, one] of first.entries()) {
        const unknownOwners = first.flatMap(({ owner }, other) => (other === index ? [] : [owner.uid]));
        expect((await converge(lab, [one], { unknownOwners })).steps).toBe(0);
      }
      expect(lab.state).toBe(before);
      // Deleting one member removes only what served that member.
      const [web, mail] = first.map(({ owner }) => owner.uid);
      if (web === undefined || mail === undefined) throw new Error("Expected two Services.");
      await converge(lab, gone.slice(0, 1), { unknownOwners: [mail] });
      const afterDeletion = lab.state;
      expect(afterDeletion).not.toBe(before);
      await converge(lab, [...gone.slice(0, 1), ...first.slice(1)]);
      expect(lab.state).toBe(afterDeletion);
    });

    test.each(readFaultKinds)(
      "reaches the same end state with a %p fault at every operation",
      (kind) => expectSameEndAfterFaults(kind, freshWorld, live),
      manyRuns,
    );

    // In `npm test`, each step crashes once, in one of the two ways.
    test.each([
      ["before-facts", 0],
      ["after-facts", 1],
    ] as const)(
      "reaches the same end state after a crash %s of any step",
      (when, crashed) =>
        expectSameEndAfterCrashes(
          freshWorld,
          phases,
          async ({ lab }, desired, atStep) => (await converge(lab, desired, crashAt(atStep, when))).steps,
          crashed,
        ),
      manyRuns,
    );
  });
}

/**
 * A message for each setting whose change the framework cannot detect, because the provider does not report its value in the
 * cloud.
 */
export function unobservedSettings(
  fields: Fields,
  observed: Readonly<Record<string, unknown>> | undefined,
): readonly string[] {
  return Object.entries(fields).flatMap(([name, { whenChanged }]) =>
    whenChanged === undefined || observed?.[name] !== undefined
      ? []
      : `The annotation ${name} has whenChanged: "${whenChanged}", but settingsOf does not return it: a change of it would have no effect. Return its value from settingsOf.`,
  );
}

/**
 * Rejections of a single target, or of every request because the rate limit is exhausted. Only for simulated clouds that can
 * reject these.
 */
function refusalsConformance(harness: Harness, { first, second, gone }: Phases): void {
  const { refuseTarget, spendBudget } = harness.simulate(new VirtualClock());
  const fresh = () => labWithTargets(harness);

  if (refuseTarget !== undefined) {
    test("omits a target that the cloud rejects, and keeps the other targets", async () => {
      const [run, expected] = [fresh(), fresh()];
      const [web] = first;
      const [, machine] = targetMachines(harness);
      if (web === undefined || machine === undefined)
        throw new Error("The suite needs a Service and targets.");
      run.simulated.refuseTarget?.(machine);
      expect([...(await converge(run, [web])).refused]).toEqual(["node-2"]);
      await converge(expected, [{ ...web, targets: web.targets.filter(({ node }) => node !== "node-2") }]);
      expect(run.state).toBe(expected.state);
    });
  }

  if (spendBudget !== undefined) {
    test("reports an exhausted rate limit as such, and reaches the same end state", async () => {
      const [run, expected] = [fresh(), fresh()];
      for (const desired of [first, second, gone]) {
        await converge(expected, desired);
        run.simulated.spendBudget?.();
        const error = await listBalancers(run).catch((error: unknown) => error);
        expect(error).toMatchObject({ kind: "rate-limited" });
        await converge(run, desired);
        expect(run.state).toBe(expected.state);
      }
    });
  }
}

/** Counts the values that a comparison visits. An object that several items share counts once. */
export function comparedIn(items: readonly object[]): number {
  return new Set(items.flatMap((item) => Object.values(item))).values().reduce(sumOfValues, 0);
}

const sumOfValues = (sum: number, value: unknown): number => sum + valuesIn(value);

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const parts = value instanceof Map || value instanceof Set ? [...value] : Object.values(value);
  return parts.reduce(sumOfValues, 1);
}
