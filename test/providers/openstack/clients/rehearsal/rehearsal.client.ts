// The rehearsal with Fairlead as the peer, and with the Go manager if OPENSTACK_CCM has its command line. Runs as `npm
// run test:clients -- openstack/rehearsal`; as `openstack/upstream`, the Go manager is built from its module.

import { expect, test } from "bun:test";
import { openstack as cloud } from "../../../../../scripts/rehearse/clouds/openstack.ts";
import { type Act, fairlead, rehearse } from "../../../../../scripts/rehearse/rehearsal.ts";

const goManager = process.env[cloud.peerVariable] ?? "";

async function acts(peer: string): Promise<readonly Act[]> {
  const played: Act[] = [];
  await rehearse({ cloud, peer, isWhole: true, report: (act) => played.push(act) });
  return played;
}

const creation = "POST /load-balancer/v2.0/lbaas/loadbalancers";
const clean = { changes: [], writes: [], differences: [] };
const count = (changes: readonly string[] = [], wanted: string) =>
  changes.filter((change) => change === wanted).length;

test("the rehearsal reports no change when the same manager takes over and hands back, with Services with all annotations", async () => {
  const [created, , takeOver, byFairlead, back, byPeer] = await acts(fairlead);
  expect(count(created?.changes, creation)).toBeGreaterThanOrEqual(24);
  expect(takeOver).toMatchObject(clean);
  expect(takeOver?.requests).toBeGreaterThan(0);
  expect(back).toMatchObject(clean);
  expect(byPeer?.changes.toSorted()).toEqual(byFairlead?.changes.toSorted() ?? []);
});

test.skipIf(goManager === "")(
  "Fairlead changes nothing when it takes over from the Go manager, and the Go manager changes nothing when it takes over again",
  async () => {
    const [created, , takeOver, byFairlead, back] = await acts(goManager);
    expect(count(created?.changes, creation)).toBeGreaterThanOrEqual(24);
    expect(takeOver).toMatchObject(clean);
    expect(takeOver?.requests).toBeGreaterThan(0);
    expect(byFairlead?.changes.length).toBeGreaterThan(0);
    expect(back).toMatchObject(clean);
  },
);
