import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { KubeError } from "../../../src/kube/errors/kube-error.ts";
import { LeaderElection } from "../../../src/kube/leader-election/leader-election.ts";
import type { Lease } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

test("a candidate that lost its Lease does not hold it again when a late response to its renewal arrives", async () => {
  const clock = new VirtualClock();
  let delay = 0;
  const reported: string[] = [];
  /** Responds after `delay`, even if the request was cancelled. */
  const stored = (_: unknown, lease: Lease): Promise<Lease> =>
    new Promise((resolve) => clock.after(seconds(delay), () => resolve(lease)));
  const api = {
    get: () => Promise.reject(new KubeError("not-found", "there is none", { operation: "get leases" })),
    create: stored,
    replace: stored,
  };
  const leader = new LeaderElection({
    api: api as never,
    clock,
    random: seededRandom(1),
    namespace: "kube-system",
    name: "ccm",
    identity: "one",
    onAcquired: () => reported.push("acquired"),
    onLost: () => reported.push("lost"),
  });
  const stop = new AbortController();
  const ended = leader.run(stop.signal);
  await clock.until(() => leader.isHeld(), seconds(5), "the lease");
  delay = 8;
  await clock.until(() => reported.includes("lost"), seconds(20), "the loss");
  const held: boolean[] = [];
  for (let time = 0; time < 10; time += 1) {
    await clock.advance(seconds(1));
    held.push(leader.isHeld());
  }
  expect(held).not.toContain(true);
  stop.abort();
  await clock.advance(seconds(20));
  await ended;
});
