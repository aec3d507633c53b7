// What every provider whose cloud tells of work by ticket must keep to: as many in one request as it says, each comes to an
// end, and what it does not know is never called done. Called for those that have `pending` and balancers.

import { expect, test } from "bun:test";
import { seconds } from "../../core/brand.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Pending } from "../../provider/plan.ts";
import { readFaultHows } from "./faulty-transport.ts";
import { Lab, noInputs } from "./lab.ts";
import { makeDesired, targetOf } from "./make-desired.ts";
import type { Harness } from "./simulated-cloud.ts";

const maxQueries = 50;

export function operationsConformance(harness: Harness): void {
  const fresh = () => {
    const lab = new Lab(harness);
    const { pending, loadBalancers } = lab.cloud;
    if (pending === undefined || loadBalancers === undefined) throw new Error("It has no tickets any more.");
    return { lab, pending, loadBalancers };
  };

  /** The first thing to be done for so many Services, begun and not waited for. */
  const begin = async ({ lab, loadBalancers }: ReturnType<typeof fresh>, count: number) => {
    const desired = Array.from({ length: count }, (_, index) =>
      makeDesired(harness, {
        name: `web-${index}`,
        ports: [80 + index],
        targets: [targetOf("node-1", "machines", "1")],
      }),
    );
    const survey = await lab.run(async (call) => loadBalancers.survey?.(desired, call));
    const operations: string[] = [];
    for (const wanted of desired) {
      const [step] = loadBalancers.plan([wanted], undefined, { survey, inputs: noInputs, orphans: [] }).steps;
      if (step === undefined) throw new Error("Nothing was planned for a Service that has nothing.");
      const outcome = await lab.run((call) => loadBalancers.apply(step, call));
      if (!outcome.done && outcome.operation !== undefined) operations.push(outcome.operation);
    }
    return operations;
  };

  const ask = async (lab: Lab, pending: Pending, operations: readonly string[]) => {
    const before = lab.requests.length;
    const answers = await lab.run((call) => pending.check(operations, call));
    expect(lab.requests.length - before).toBeLessThanOrEqual(1);
    return answers;
  };

  test("asks about as many tickets as it says in one request, until each has ended", async () => {
    const world = fresh();
    const { lab, pending } = world;
    let open: readonly string[] = await begin(world, pending.limit);
    expect(open).toHaveLength(pending.limit);
    expect(new Set(open).size).toBe(open.length);
    for (let asked = 0; open.length > 0 && asked < maxQueries; asked++) {
      const answers = await ask(lab, pending, open);
      expect([...answers.keys()].filter((operation) => !open.includes(operation))).toEqual([]);
      expect([...answers.values()].filter((answer) => CloudError.is(answer))).toEqual([]);
      open = open.filter((operation) => {
        const answer = answers.get(operation);
        return answer !== undefined && !CloudError.is(answer) && !answer.done;
      });
      await lab.clock.advance(seconds(5));
    }
    expect(open).toEqual([]);
  });

  test("calls nothing done that it does not know, and nothing lost when the cloud did not answer", async () => {
    const world = fresh();
    const { lab, pending } = world;
    const answers = await ask(lab, pending, ["no-such-ticket"]);
    const answer = answers.get("no-such-ticket");
    expect(answer === undefined || CloudError.is(answer)).toBe(true);
    const [operation = ""] = await begin(world, 1);
    for (const how of readFaultHows) {
      lab.faulty.failAt(0, how);
      await expect(lab.run((call) => pending.check([operation], call))).rejects.toThrow();
    }
    expect((await ask(lab, pending, [operation])).has(operation)).toBe(true);
  });
}
