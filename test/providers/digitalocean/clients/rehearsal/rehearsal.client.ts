// The rehearsal with Fairlead as the peer, and with the Go manager if DIGITALOCEAN_CCM has its command line, because its module
// cannot be downloaded everywhere. Runs as `npm run test:clients -- digitalocean/rehearsal`.

import { expect, test } from "bun:test";
import { digitalocean as cloud } from "../../../../../scripts/rehearse/clouds/digitalocean.ts";
import { type Act, fairlead, rehearse } from "../../../../../scripts/rehearse/rehearsal.ts";

const goManager = process.env[cloud.peerVariable] ?? "";

async function acts(peer: string): Promise<readonly Act[]> {
  const played: Act[] = [];
  await rehearse({ cloud, peer, isWhole: true, report: (act) => played.push(act) });
  return played;
}

const clean = { changes: [], writes: [], differences: [] };
const count = (changes: readonly string[] = [], wanted: string) =>
  changes.filter((change) => change === wanted).length;

test("the rehearsal reports no change when the same manager takes over and hands back, with Services with all annotations", async () => {
  const [creation, , takeOver, byFairlead, back, byPeer] = await acts(fairlead);
  expect(count(creation?.changes, "POST /v2/load_balancers")).toBeGreaterThanOrEqual(30);
  expect(takeOver).toMatchObject(clean);
  expect(takeOver?.requests).toBeGreaterThan(0);
  expect(back).toMatchObject(clean);
  expect(byPeer?.changes.toSorted()).toEqual(byFairlead?.changes.toSorted() ?? []);
});

test.skipIf(goManager === "")(
  "Fairlead changes nothing when it takes over from the Go manager, which then finds the state that it left",
  async () => {
    const [creation, , takeOver, byFairlead, back, byPeer] = await acts(goManager);
    expect(count(creation?.changes, "POST /v2/load_balancers")).toBeGreaterThanOrEqual(30);
    expect(takeOver).toMatchObject(clean);
    expect(takeOver?.requests).toBeGreaterThan(0);
    expect(count(byFairlead?.changes, "PUT /v2/load_balancers/{id}")).toBeGreaterThan(0);
    // The Go manager replaces every load balancer when it starts.
    expect(back?.differences).toEqual([]);
    expect(
      back?.changes.filter((change) => !change.startsWith("PUT ") && !change.includes("/tags/")),
    ).toEqual([]);
    expect(count(byPeer?.changes, "DELETE /v2/load_balancers/{id}")).toBe(1);
  },
);
