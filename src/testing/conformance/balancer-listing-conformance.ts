// The contract of a provider's load balancers while listings are wrong: empty, short, old or repeated. A change that was planned
// from such a listing is refused, or what it made is listed with its mark, so that the deletion of the Services removes it.

import { expect, test } from "bun:test";
import type { Fields } from "../../core/settings.ts";
import { CloudError } from "../../provider/errors.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { actOnListing, converge } from "./converge.ts";
import { listBalancers, type SavedFacts } from "./converge-groups.ts";
import { failureOf, type Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";
import { labWithTargets } from "./targets.ts";

type Desired = readonly DesiredLoadBalancer<Fields>[];

/** Two Services: as they are created, as they are changed, and as they are deleted. */
export interface Phases {
  readonly first: Desired;
  readonly second: Desired;
  readonly gone: Desired;
}

interface Run {
  readonly lab: Lab;
  readonly savedFacts: SavedFacts;
  /** The state of the cloud before the first change. */
  readonly before: string;
}

/** Called inside the suite of load balancers. */
export function balancerListingConformance(harness: Harness, { first, second, gone }: Phases): void {
  const settled = async (...phases: readonly Desired[]): Promise<Run> => {
    const lab = labWithTargets(harness);
    const run: Run = { lab, savedFacts: new Map(), before: lab.state };
    for (const desired of phases) await converge(run, desired);
    return run;
  };

  test.each([
    ["is empty", () => []],
    ["lacks one load balancer", (listed: readonly ObservedLoadBalancer[]) => listed.slice(1)],
  ] as const)("leaves nothing behind after it acted on a listing that %s", async (_, wrong) => {
    const run = await settled(first);
    const listed = await listBalancers(run.lab);
    const state = run.lab.state;
    await actOnListing(run, first, wrong(listed));
    // Whatever it made a second time must be visible.
    if (run.lab.state !== state) {
      expect((await listBalancers(run.lab)).length).toBeGreaterThan(listed.length);
    }
    await converge(run, gone);
    expect(run.lab.state).toBe(run.before);
  });

  test("leaves nothing behind after a lost answer and an empty listing", async () => {
    const run = await settled();
    const empty = (await listBalancers(run.lab)).filter(({ ownership }) => ownership === "ours");
    expect(empty).toEqual([]);
    run.lab.faulty.failAt(0, "lost-answer");
    await actOnListing(run, first, empty);
    await actOnListing(run, first, empty);
    await converge(run, first);
    await converge(run, gone);
    expect(run.lab.state).toBe(run.before);
  });

  test("reaches the same end state after it acted on a listing from before the last change", async () => {
    const run = await settled(first);
    const old = await listBalancers(run.lab);
    await converge(run, second);
    const state = run.lab.state;
    await actOnListing(run, second, old);
    await converge(run, second);
    expect(run.lab.state).toBe(state);
  });

  test("deletes nothing else when a listing still shows what was deleted", async () => {
    const run = await settled(first);
    const old = await listBalancers(run.lab);
    await converge(run, gone);
    await actOnListing(run, gone, old);
    expect(run.lab.state).toBe(run.before);
  });

  test("reaches the same end state after it acted on a listing that repeats its entries", async () => {
    const run = await settled(first);
    const listed = await listBalancers(run.lab);
    await actOnListing(
      run,
      second,
      listed.flatMap((balancer) => [balancer, balancer]),
    );
    await converge(run, second);
    expect(run.lab.state).toBe((await settled(first, second)).lab.state);
  });

  test("fails a listing of load balancers that lacks an entry which the cloud counts", async () => {
    const { lab } = await settled(first);
    const { shortenNextBalancerPage } = lab.simulated;
    if (shortenNextBalancerPage === undefined) return;
    shortenNextBalancerPage();
    expect(await failureOf(listBalancers(lab))).toBeInstanceOf(CloudError);
  });
}
