// The contract of a provider's load balancers with incorrect listings: empty, short, old or repeated. A change that was planned
// from such a listing is rejected, or its result is listed with its mark, so that deleting the Services removes it.

import { expect, test } from "bun:test";
import { CloudError } from "../../provider/errors.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { actOnListing, converge } from "./converge.ts";
import { labWithTargets } from "./desired.ts";
import { failureOf } from "./lab.ts";
import { type Desired, listBalancers } from "./plan-inputs.ts";
import type { Harness } from "./simulated-cloud.ts";

/** Two Services: when created, when changed, and when deleted. */
export interface Phases {
  readonly first: readonly Desired[];
  readonly second: readonly Desired[];
  readonly gone: readonly Desired[];
}

/** A lab after these phases, and its cloud's state before them. */
async function settledLab(harness: Harness, phases: readonly (readonly Desired[])[]) {
  const lab = labWithTargets(harness);
  const before = lab.state;
  for (const desired of phases) await converge(lab, desired);
  return { lab, before };
}

/** Runs within the suite of load balancers. */
export function balancerListingConformance(harness: Harness, { first, second, gone }: Phases): void {
  const settled = (...phases: readonly (readonly Desired[])[]) => settledLab(harness, phases);

  test.each([
    ["is empty", () => []],
    ["lacks one load balancer", (listed: readonly ObservedLoadBalancer[]) => listed.slice(1)],
  ] as const)("leaves nothing behind after acting on a listing that %s", async (_, wrong) => {
    const { lab, before } = await settled(first);
    const listed = await listBalancers(lab);
    const state = lab.state;
    await actOnListing(lab, first, wrong(listed));
    // Anything that was created twice must be visible.
    if (lab.state !== state) {
      expect((await listBalancers(lab)).length).toBeGreaterThan(listed.length);
    }
    await converge(lab, gone);
    expect(lab.state).toBe(before);
  });

  test("leaves nothing behind after a lost response and an empty listing", async () => {
    const { lab, before } = await settled();
    const empty = (await listBalancers(lab)).filter(({ ownership }) => ownership === "ours");
    expect(empty).toEqual([]);
    lab.faulty.failAt(0, "lost-answer");
    await actOnListing(lab, first, empty);
    await actOnListing(lab, first, empty);
    await converge(lab, first);
    await converge(lab, gone);
    expect(lab.state).toBe(before);
  });

  test("reaches the same end state after acting on a listing from before the last change", async () => {
    const { lab } = await settled(first);
    const old = await listBalancers(lab);
    await converge(lab, second);
    const state = lab.state;
    await actOnListing(lab, second, old);
    await converge(lab, second);
    expect(lab.state).toBe(state);
  });

  test("deletes nothing else when a listing still shows a deleted object", async () => {
    const { lab, before } = await settled(first);
    const old = await listBalancers(lab);
    await converge(lab, gone);
    await actOnListing(lab, gone, old);
    expect(lab.state).toBe(before);
  });

  test("reaches the same end state after acting on a listing that repeats its entries", async () => {
    const { lab } = await settled(first);
    const listed = await listBalancers(lab);
    await actOnListing(
      lab,
      second,
      listed.flatMap((balancer) => [balancer, balancer]),
    );
    await converge(lab, second);
    expect(lab.state).toBe((await settled(first, second)).lab.state);
  });

  test("fails a listing of load balancers that lacks an entry counted by the cloud", async () => {
    const { lab } = await settled(first);
    const { shortenNextBalancerPage } = lab.simulated;
    if (shortenNextBalancerPage === undefined) return;
    shortenNextBalancerPage();
    expect(await failureOf(listBalancers(lab))).toBeInstanceOf(CloudError);
  });
}
