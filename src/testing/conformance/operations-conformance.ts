// The contract of a provider whose cloud runs asynchronous operations: one request checks up to `limit` operations, each
// operation ends, and an unknown one is never reported as done. Runs for providers with `pending` and load balancers.

import { expect, test } from "bun:test";
import { seconds } from "../../core/brand.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Pending } from "../../provider/plan.ts";
import type { ObservedVolume, VolumeDriver } from "../../provider/volumes.ts";
import { readParameters } from "../../volumes/csi/volume-requests.ts";
import { balancerTargets, labWithTargets, makeDesired } from "./desired.ts";
import { readFaultKinds } from "./faulty-transport.ts";
import { failureOf, type Lab } from "./lab.ts";
import { sharedPrefetch } from "./plan-inputs.ts";
import type { Harness } from "./simulated-cloud.ts";
import { addMachines } from "./volume-orchestrator.ts";

const maxChecks = 50;

interface World {
  readonly lab: Lab;
  readonly pending: Pending;
}

export function operationsConformance(harness: Harness): void {
  const fresh = (): World => {
    const lab = labWithTargets(harness);
    const { pending } = lab.cloud;
    if (pending === undefined) throw new Error("The provider lost `pending` on a new connection.");
    return { lab, pending };
  };

  /** Attaches this many volumes and returns the operations, which are still running. */
  const beginAttachments = async (lab: Lab, count: number): Promise<readonly string[]> => {
    const { volumes } = lab.cloud;
    const driver: VolumeDriver | undefined = harness.definition.volumeDriver;
    if (volumes === undefined || driver === undefined) return [];
    const { ids, place } = await addMachines(lab, driver);
    const { values } = readParameters({}, driver);
    const desired = { size: driver.sizes.min, topology: place, parameters: values, claim: undefined };
    const operations: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const outcome = await lab.run(async (call) => {
        const { id } = await volumes.create({ name: `pvc-${index}`, ...desired }, call);
        return volumes.attach((await volumes.get(id, call)) as ObservedVolume, ids[0], call);
      });
      if (!outcome.done && outcome.operation !== undefined) operations.push(outcome.operation);
    }
    return operations;
  };

  /** Applies the first step of this many Services and returns their running operations. Without load balancers, uses volumes. */
  const begin = async (lab: Lab, count: number): Promise<readonly string[]> => {
    const { loadBalancers } = lab;
    const desired = Array.from({ length: count }, (_, index) =>
      makeDesired(harness, {
        name: `web-${index}`,
        ports: [80 + index],
        targets: balancerTargets(harness).slice(0, 1),
      }),
    );
    const prefetch = sharedPrefetch(lab);
    const operations: string[] = [];
    for (const wanted of desired) {
      const [step] = loadBalancers.plan(wanted, undefined, await prefetch(wanted)).steps;
      if (step === undefined)
        throw new Error("plan() returned no steps for a Service without a load balancer.");
      const outcome = await lab.run((call) => loadBalancers.apply(step, call));
      if (!outcome.done && outcome.operation !== undefined) operations.push(outcome.operation);
    }
    return operations.length > 0 ? operations : beginAttachments(lab, count);
  };

  const check = async (lab: Lab, pending: Pending, operations: readonly string[]) => {
    const before = lab.requests.length;
    const answers = await lab.run((call) => pending.check(operations, call));
    const expected = harness.pendingRequests?.(operations.length) ?? 1;
    expect(lab.requests.length - before).toBeLessThanOrEqual(expected);
    return answers;
  };

  test("checks up to its limit of operations in one request, until each has ended", async () => {
    const { lab, pending } = fresh();
    let open = await begin(lab, pending.limit);
    expect(open).toHaveLength(pending.limit);
    expect(new Set(open).size).toBe(open.length);
    for (let checks = 0; open.length > 0 && checks < maxChecks; checks++) {
      const answers = await check(lab, pending, open);
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

  test("never reports an unknown operation as done, nor a known one as lost when the request fails", async () => {
    const { lab, pending } = fresh();
    const answers = await check(lab, pending, ["no-such-operation"]);
    const answer = answers.get("no-such-operation");
    expect(answer === undefined || CloudError.is(answer)).toBe(true);
    const [operation = ""] = await begin(lab, 1);
    for (const kind of readFaultKinds) {
      lab.faulty.failAt(0, kind);
      expect(await failureOf(lab.run((call) => pending.check([operation], call)))).toBeInstanceOf(Error);
    }
    expect((await check(lab, pending, [operation])).has(operation)).toBe(true);
  });
}
