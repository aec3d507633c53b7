// The rehearsal with Fairlead as the peer, and with the Go manager, whose command line is in AWS_CCM. Runs as
// `npm run test:clients -- aws/upstream`, which builds the Go manager.

import { expect, test } from "bun:test";
import { aws as cloud } from "../../../../../scripts/rehearse/clouds/aws.ts";
import { type Act, fairlead, rehearse } from "../../../../../scripts/rehearse/rehearsal.ts";

const goManager = process.env[cloud.peerVariable] ?? "";

async function acts(peer: string): Promise<readonly Act[]> {
  const played: Act[] = [];
  await rehearse({ cloud, peer, isWhole: true, report: (act) => played.push(act) });
  return played;
}

const clean = { changes: [], writes: [], differences: [] };
const count = (changes: readonly string[] = []) =>
  changes.filter((change) => change.endsWith(":CreateLoadBalancer")).length;

test("the rehearsal reports no change when the same manager takes over and hands back, with Services with all annotations", async () => {
  const [created, , takeOver, byFairlead, back, byPeer] = await acts(fairlead);
  expect(count(created?.changes)).toBe(37);
  expect(takeOver).toMatchObject(clean);
  expect(takeOver?.requests).toBeGreaterThan(0);
  expect(back).toMatchObject(clean);
  expect(byPeer?.changes.toSorted()).toEqual(byFairlead?.changes.toSorted() ?? []);
});

/** The requests that the Go manager sends at each start, although they change nothing. */
const rewritten =
  /:(ModifyLoadBalancerAttributes|ModifyTargetGroup|AddTags|CreateLoadBalancerPolicy|SetLoadBalancerPoliciesOfListener)$/;

test.skipIf(goManager === "")(
  "Fairlead changes nothing when it takes over from the Go manager, and the Go manager leaves the same state when it takes over again",
  async () => {
    const [created, , takeOver, byFairlead, back] = await acts(goManager);
    expect(count(created?.changes)).toBe(37);
    expect(takeOver).toMatchObject(clean);
    expect(takeOver?.requests).toBeGreaterThan(0);
    expect(byFairlead?.changes.length).toBeGreaterThan(0);
    expect(back).toMatchObject({ writes: [], differences: [] });
    expect(back?.changes.filter((change) => !rewritten.test(change))).toEqual([]);
  },
);
