// What every provider's balancers must keep to: one end whatever goes wrong on the way, nothing to do once there, nothing
// left after teardown, and nobody else's touched.

import { describe, expect, test } from "bun:test";
import { adoptionConformance } from "./adoption-conformance.ts";
import { Crash, converge, type Memory } from "./balancer-driver.ts";
import { faultHows } from "./faulty-transport.ts";
import { Lab, noInputs } from "./lab.ts";
import { type DesiredWords, makeDesired, targetOf } from "./make-desired.ts";
import { operationsConformance } from "./operations-conformance.ts";
import type { AnyCloud, Harness } from "./simulated-cloud.ts";

const targets = ["1", "2", "3"].map((key) => targetOf(`node-${key}`, "machines", key));

/** What it has beyond what all have: only that is looked at. A provider that is not written yet has nothing. */
function abilitiesOf(harness: Harness): Partial<AnyCloud> {
  try {
    return new Lab(harness).cloud;
  } catch {
    return {};
  }
}

export function loadBalancersConformance(
  name: string,
  harness: Harness,
  /** Put on every Service: what makes them share a balancer, for a second run. */
  annotations: Readonly<Record<string, string>> = {},
): void {
  const desired = (words: DesiredWords) => makeDesired(harness, { annotations, ...words });
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
    const lab = new Lab(harness);
    const memory: Memory = new Map();
    return { lab, memory };
  };
  const stateOf = (lab: Lab): string => JSON.stringify(lab.simulated.state());

  /** The whole life of two Services; what matters is the state after each part of it. */
  const live = async ({ lab, memory }: { lab: Lab; memory: Memory }): Promise<string[]> => {
    const states: string[] = [];
    for (const desired of [first, second, gone]) {
      await converge({ lab, memory }, desired);
      states.push(stateOf(lab));
    }
    return states;
  };

  const { loadBalancers: abilities, pending } = abilitiesOf(harness);

  describe(`${name}: load balancers`, () => {
    if (abilities?.adopts !== undefined) adoptionConformance(harness);
    if (abilities !== undefined && pending !== undefined) operationsConformance(harness);
    if (abilities?.survey !== undefined) {
      test("plans on a survey that was made for others too as on one of its own, and asks without changing", async () => {
        const { lab } = fresh();
        const { loadBalancers } = lab.cloud;
        const plans = async (surveyed: typeof first): Promise<readonly unknown[]> => {
          const survey = await lab.run(async (call) => loadBalancers?.survey?.(surveyed, call));
          expect(survey).toBeDefined();
          const given = { survey, inputs: noInputs, orphans: [] };
          return surveyed.map((one) => loadBalancers?.plan([one], undefined, given));
        };
        const alone = [...(await plans(first.slice(0, 1))), ...(await plans(first.slice(1)))];
        expect(await plans(first)).toEqual(alone);
        expect([lab.mutations, lab.liars, lab.leftListeners]).toEqual([0, [], 0]);
      });
    }

    test("converges, changes with the wish, and leaves nothing behind", async () => {
      const { lab, memory } = fresh();
      const before = stateOf(lab);
      const [made, changed, removed] = await live({ lab, memory });
      expect(made).not.toBe(before);
      expect(changed).not.toBe(made);
      expect(removed).toBe(before);
      expect([lab.liars, lab.leftListeners]).toEqual([[], 0]);
    });

    test("does nothing once settled, nor after a restart", async () => {
      const { lab, memory } = fresh();
      await converge({ lab, memory }, first);
      const before = lab.mutations;
      expect((await converge({ lab, memory }, first)).steps).toBe(0);
      lab.connect();
      expect((await converge({ lab, memory }, first)).steps).toBe(0);
      expect(lab.mutations).toBe(before);
    });

    test("publishes addresses, or says that the status is not ours, once settled", async () => {
      const { lab, memory } = fresh();
      const { observed, members } = await converge({ lab, memory }, first);
      for (const [group, desired] of members) {
        for (const member of desired) {
          const publication = lab.cloud.loadBalancers?.publish(member, observed.get(group));
          expect(publication?.kind).not.toBe("wait");
        }
      }
    });

    test("waits with publishing while there is nothing", () => {
      const [member] = first;
      const publication = member && fresh().lab.cloud.loadBalancers?.publish(member, undefined);
      expect(publication?.kind).toBe("wait");
    });

    test("plans nothing for a wish that ends before anything was made", async () => {
      const { lab, memory } = fresh();
      expect((await converge({ lab, memory }, gone)).steps).toBe(0);
      expect(lab.mutations).toBe(0);
    });

    test("leaves to an owner that is neither a member nor known to be gone what serves it", async () => {
      const { lab, memory } = fresh();
      await converge({ lab, memory }, first);
      const before = stateOf(lab);
      for (const [index, one] of first.entries()) {
        const strangers = first.flatMap(({ owner }, other) => (other === index ? [] : [owner.uid]));
        expect((await converge({ lab, memory, strangers }, [one])).steps).toBe(0);
      }
      expect(stateOf(lab)).toBe(before);
      // One member may go meanwhile, and takes only its own with it.
      const [web, mail] = first.map(({ owner }) => owner.uid);
      if (web === undefined || mail === undefined) throw new Error("There must be two.");
      await converge({ lab, memory, strangers: [mail] }, gone.slice(0, 1));
      const without = stateOf(lab);
      expect(without).not.toBe(before);
      await converge({ lab, memory }, [...gone.slice(0, 1), ...first.slice(1)]);
      expect(stateOf(lab)).toBe(without);
    });

    test.each(faultHows)("comes to the same end with %p at any request", async (how) => {
      const clean = fresh();
      const expected = await live(clean);
      for (let position = 0; position < clean.lab.requests.length; position++) {
        const run = fresh();
        run.lab.faulty.failAt(position, how);
        expect({ position, states: await live(run) }).toEqual({ position, states: expected });
        expect(run.lab.leftListeners).toBe(0);
      }
    });

    test.each(["before-facts", "after-facts"] as const)(
      "comes to the same end after a crash %s of any step",
      async (when) => {
        const clean = fresh();
        const expected = await live(clean);
        for (const [part, desired] of [first, second, gone].entries()) {
          for (let atStep = 0; ; atStep++) {
            const { lab, memory } = fresh();
            for (const earlier of [first, second].slice(0, part)) await converge({ lab, memory }, earlier);
            const crashed = await converge({ lab, memory, crash: { atStep, when } }, desired).then(
              () => false,
              (error) => {
                if (error instanceof Crash) return true;
                throw error;
              },
            );
            if (!crashed) break;
            lab.connect();
            await converge({ lab, memory }, desired);
            expect({ part, atStep, state: stateOf(lab) }).toEqual({
              part,
              atStep,
              state: expected[part] as string,
            });
          }
        }
      },
    );
  });
}
