// The contract of a provider's load balancers: the same end state after any fault, no changes once converged, nothing
// left after deletion, and no change to load balancers of other owners.

import { describe, expect, test } from "bun:test";
import type { Cidr } from "../../core/brand.ts";
import { isPartList } from "../../provider/listing-parts.ts";
import { adoptionConformance } from "./adoption-conformance.ts";
import { balancerListingConformance } from "./balancer-listing-conformance.ts";
import { converge, crashes } from "./converge.ts";
import { listBalancers, type SavedFacts } from "./converge-groups.ts";
import { faultPositions, manyRuns, readFaultKinds } from "./faulty-transport.ts";
import { Lab } from "./lab.ts";
import { listingPartsConformance } from "./listing-parts-conformance.ts";
import { type DesiredOptions, makeDesired } from "./make-desired.ts";
import { operationsConformance } from "./operations-conformance.ts";
import { refusalsConformance } from "./refusals-conformance.ts";
import type { AnyCloud, Harness } from "./simulated-cloud.ts";
import { balancerTargets, labWithTargets } from "./targets.ts";
import { unobservedSettings } from "./unobserved-settings.ts";

/** The optional capabilities of this provider. A provider that is not implemented yet has none. */
function optionalPartsOf(harness: Harness): Partial<AnyCloud> {
  try {
    return new Lab(harness).cloud;
  } catch {
    return {};
  }
}

/** Runs the contract of `loadBalancers` as bun tests. Call it at the top level of a test file. */
export function loadBalancersConformance(
  name: string,
  harness: Harness,
  /** Annotations for every Service, such as those that make them share a load balancer. */
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

  const fresh = () => {
    const lab = labWithTargets(harness);
    const savedFacts: SavedFacts = new Map();
    return { lab, savedFacts };
  };
  const stateOf = (lab: Lab): string => lab.state;

  /** Creates, changes and deletes two Services; returns the cloud's state after each phase. */
  const live = async ({ lab, savedFacts }: { lab: Lab; savedFacts: SavedFacts }): Promise<string[]> => {
    const states: string[] = [];
    for (const desired of [first, second, gone]) {
      await converge({ lab, savedFacts }, desired);
      states.push(stateOf(lab));
    }
    return states;
  };

  const { loadBalancers: parts, pending } = optionalPartsOf(harness);

  describe(`${name}: load balancers`, () => {
    if (parts?.adopts !== undefined) adoptionConformance(harness);
    if (parts !== undefined && pending !== undefined) operationsConformance(harness);
    if (parts?.prefetch !== undefined) {
      test("plans the same with a shared prefetch as with a separate one, and prefetches without changing anything", async () => {
        const { lab } = fresh();
        const { loadBalancers } = lab.cloud;
        const plans = async (desired: typeof first): Promise<readonly unknown[]> => {
          const prefetched = await lab.run(async (call) => loadBalancers?.prefetch?.(desired, call));
          expect(prefetched).toBeDefined();
          const context = { prefetched, orphans: [], duplicates: [] };
          return desired.map((one) => loadBalancers?.plan([one], undefined, context));
        };
        const alone = [...(await plans(first.slice(0, 1))), ...(await plans(first.slice(1)))];
        expect(await plans(first)).toEqual(alone);
        expect([lab.mutations, lab.undeclaredMutations, lab.leakedListeners]).toEqual([0, [], 0]);
      });
    }

    balancerListingConformance(harness, { first, second, gone });
    refusalsConformance(harness, { first, second, gone });
    if (parts !== undefined && isPartList(parts.list))
      listingPartsConformance(harness, first, desired({ name: "later", ports: [8080], targets }));

    test("creates, updates and deletes load balancers, and leaves nothing behind", async () => {
      const { lab, savedFacts } = fresh();
      const before = stateOf(lab);
      const [made, changed, removed] = await live({ lab, savedFacts });
      expect(made).not.toBe(before);
      expect(changed).not.toBe(made);
      expect(removed).toBe(before);
      expect([lab.undeclaredMutations, lab.leakedListeners]).toEqual([[], 0]);
    });

    test("changes nothing once converged, also after a restart", async () => {
      const { lab, savedFacts } = fresh();
      await converge({ lab, savedFacts }, first);
      const before = lab.mutations;
      expect((await converge({ lab, savedFacts }, first)).steps).toBe(0);
      lab.connect();
      expect((await converge({ lab, savedFacts }, first)).steps).toBe(0);
      expect(lab.mutations).toBe(before);
    });

    test("a Service that no longer names source ranges ends like one that never did", async () => {
      const states: string[] = [];
      for (const sourceRanges of [undefined, ["198.51.100.0/24", "203.0.113.0/24"]]) {
        const { lab, savedFacts } = fresh();
        const web = { name: "web", targets: targets.slice(0, 2) };
        if (sourceRanges !== undefined)
          await converge({ lab, savedFacts }, [desired({ ...web, sourceRanges })]);
        await converge({ lab, savedFacts }, [desired(web)]);
        states.push(stateOf(lab));
      }
      expect(states[1]).toBe(states[0] as string);
    });

    test.each([
      ["sourceRanges", { sourceRanges: ["198.51.100.0/24" as Cidr] }],
      ["sessionAffinity", { sessionAffinitySeconds: 600 }],
    ] as const)("declares in `supports` whether its plans apply %s", async (feature, request) => {
      const states: string[] = [];
      for (const changes of [{}, request]) {
        const { lab, savedFacts } = fresh();
        const web = desired({ name: "web", targets: targets.slice(0, 2) });
        await converge({ lab, savedFacts }, [{ ...web, ...changes }]);
        states.push(stateOf(lab));
      }
      expect(states[1] !== states[0]).toBe(parts?.supports?.includes(feature) === true);
    });

    if (parts?.targetsOnly !== undefined) {
      test("distinguishes steps that change only targets from those that change more", async () => {
        const { lab, savedFacts } = fresh();
        const [web] = first;
        const { observed, members } = await converge({ lab, savedFacts }, web === undefined ? [] : [web]);
        const [[group = "", [current] = []] = []] = members;
        const { loadBalancers } = lab.cloud;
        const prefetched = await lab.run(async (call) =>
          loadBalancers?.prefetch?.(current ? [current] : [], call),
        );
        const planFor = (changes: Partial<typeof current>) => {
          if (loadBalancers === undefined || current === undefined) throw new Error("Expected a Service.");
          const context = { prefetched, orphans: [], duplicates: [] };
          return loadBalancers.plan([{ ...current, ...changes }], observed.get(group), context).steps;
        };
        const partsOf = (steps: ReturnType<typeof planFor>) =>
          steps.flatMap((step) => loadBalancers?.targetsOnly?.(step) ?? []);
        const ports = desired({ name: "web", ports: [80, 8443] }).ports;
        const forTargets = planFor({ targets });
        expect(forTargets.length).toBeGreaterThan(0);
        expect(partsOf(forTargets)).toEqual([...forTargets]);
        expect(partsOf(planFor({ ports }))).toEqual([]);
        const forBoth = planFor({ ports, targets });
        expect(partsOf(forBoth).length).toBeGreaterThan(0);
        expect(partsOf(forBoth)).not.toEqual([...forBoth]);
      });
    }

    test("publishes addresses once converged, or declares that it does not own the status", async () => {
      const { lab, savedFacts } = fresh();
      const { observed, members } = await converge({ lab, savedFacts }, first);
      for (const [group, desired] of members) {
        for (const member of desired) {
          const publication = lab.cloud.loadBalancers?.publish(member, observed.get(group));
          expect(publication?.kind).not.toBe("wait");
        }
      }
    });

    test("never lists load balancers of another cluster as its own, or as free to adopt", async () => {
      const { lab, savedFacts } = fresh();
      const cluster = await converge({ lab, savedFacts }, first);
      const owners = first.map(({ owner }) => owner.uid);
      lab.connect("another");
      const all = await listBalancers(lab);
      const listed = all.filter((balancer) => balancer.owners.some((uid) => owners.includes(uid)));
      expect(cluster.observed.size).toBeGreaterThan(0);
      // A mark without the cluster does not show it, but nothing is changed for an owner that this cluster does not have.
      const isNamed = lab.cloud.loadBalancers?.marksNameCluster !== false;
      for (const { ownership, cluster: name = "conformance" } of listed)
        expect([ownership, name]).toEqual([isNamed ? "foreign" : "ours", "conformance"]);
    });

    test("returns in `settingsOf` every setting that cannot be changed", async () => {
      const { lab, savedFacts } = fresh();
      const { observed, members } = await converge({ lab, savedFacts }, first);
      const { fields = {} } = harness.definition.annotations ?? {};
      for (const [group, [member]] of members) {
        const balancer = observed.get(group);
        if (member === undefined || balancer === undefined) continue;
        const settings = lab.cloud.loadBalancers?.settingsOf?.(balancer, member.owner.uid);
        expect(unobservedSettings(fields, settings)).toEqual([]);
      }
    });

    test("publishes nothing while there is no load balancer", () => {
      const [member] = first;
      const publication = member && fresh().lab.cloud.loadBalancers?.publish(member, undefined);
      expect(publication?.kind).toBe("wait");
    });

    test("plans nothing for a Service that is deleted before its load balancer exists", async () => {
      const { lab, savedFacts } = fresh();
      expect((await converge({ lab, savedFacts }, gone)).steps).toBe(0);
      expect(lab.mutations).toBe(0);
    });

    test("keeps the parts of an owner that is not known to be deleted", async () => {
      const { lab, savedFacts } = fresh();
      await converge({ lab, savedFacts }, first);
      const before = stateOf(lab);
      for (const [index, one] of first.entries()) {
        const unknownOwners = first.flatMap(({ owner }, other) => (other === index ? [] : [owner.uid]));
        expect((await converge({ lab, savedFacts, unknownOwners }, [one])).steps).toBe(0);
      }
      expect(stateOf(lab)).toBe(before);
      // Deleting one member removes only what served that member.
      const [web, mail] = first.map(({ owner }) => owner.uid);
      if (web === undefined || mail === undefined) throw new Error("Expected two Services.");
      await converge({ lab, savedFacts, unknownOwners: [mail] }, gone.slice(0, 1));
      const afterDeletion = stateOf(lab);
      expect(afterDeletion).not.toBe(before);
      await converge({ lab, savedFacts }, [...gone.slice(0, 1), ...first.slice(1)]);
      expect(stateOf(lab)).toBe(afterDeletion);
    });

    test.each(readFaultKinds)(
      "reaches the same end state with a %p fault at every operation",
      async (kind) => {
        const clean = fresh();
        const expected = await live(clean);
        for (const position of faultPositions(clean.lab.requests, kind)) {
          const run = fresh();
          run.lab.faulty.failAt(position, kind);
          expect({ position, states: await live(run) }).toEqual({ position, states: expected });
          expect(run.lab.leakedListeners).toBe(0);
        }
      },
      manyRuns,
    );

    test.each(["before-facts", "after-facts"] as const)(
      "reaches the same end state after a crash %s of any step",
      async (when) => {
        const clean = fresh();
        const expected = await live(clean);
        for (const [phase, desired] of [first, second, gone].entries()) {
          for (let atStep = 0; ; atStep++) {
            const { lab, savedFacts } = fresh();
            for (const earlier of [first, second].slice(0, phase))
              await converge({ lab, savedFacts }, earlier);
            const crash = { atStep, when };
            if (!(await crashes(converge({ lab, savedFacts, crash }, desired)))) break;
            lab.connect();
            await converge({ lab, savedFacts }, desired);
            expect({ phase, atStep, state: stateOf(lab) }).toEqual({
              phase,
              atStep,
              state: expected[phase] as string,
            });
          }
        }
      },
      manyRuns,
    );
  });
}
