// The rehearsal with a small Go manager on k8s.io/cloud-provider, in peer/, and with Fairlead as the
// peer, which shows more kinds of changes: with the same settings there is no difference, with other
// settings there are some. Runs as `npm run test:clients -- rehearsal`.

import { expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { hetzner as cloud } from "../../../../../scripts/rehearse/clouds/hetzner.ts";
import { type Act, fairlead, isClean, rehearse } from "../../../../../scripts/rehearse/rehearsal.ts";
import { goManagerFolder, goProgram, orSkipped } from "../../../../tools/rig/install.ts";

const goManager = orSkipped("rehearsal with a Go manager", () =>
  goProgram(join(import.meta.dir, "peer"), [goManagerFolder]),
);

test("the rehearsal reports in one line that no peer is given", () => {
  const script = resolve(import.meta.dir, "../../../../../scripts/rehearse.ts");
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, script], {
    env: { ...process.env, HCLOUD_CCM: "" },
  });
  expect([exitCode, String(stdout)]).toEqual([
    0,
    "No peer is given, so nothing was rehearsed. Set HCLOUD_CCM or --peer to the command line of the Go manager.\n",
  ]);
});

test.concurrent("the rehearsal reports no change when the same manager takes over and hands back", async () => {
  const acts: Act[] = [];
  const takeOver = await rehearse({ cloud, peer: fairlead, isWhole: true, report: (act) => acts.push(act) });
  expect(isClean(takeOver)).toBe(true);
  expect(takeOver.requests).toBeGreaterThan(0);
  expect(acts.map((act) => [act.title, isClean(act)])).toEqual([
    ["the peer creates everything", false],
    ["the peer, after changes of users", false],
    ["Fairlead takes over", true],
    ["Fairlead, after changes of users", false],
    ["the peer takes over again", true],
    ["the peer, after changes of users", false],
  ]);
  // Both send the same requests for the same changes.
  const [, , , byFairlead, , byPeer] = acts;
  expect(byPeer?.changes.toSorted()).toEqual(byFairlead?.changes.toSorted() ?? []);
});

test.concurrent.skipIf(goManager === undefined)(
  "the rehearsal completes with a Go manager that writes protobuf, and Fairlead changes nothing when it takes over [N26]",
  async () => {
    const acts: Act[] = [];
    const peer = goManager ?? "";
    const takeOver = await rehearse({ cloud, peer, isWhole: true, report: (act) => acts.push(act) });
    const [creation, , , byFairlead, back, byPeer] = acts;
    // Only a Node is replaced as a whole, in protobuf. All other writes of the Go manager are patches.
    expect(creation?.writes.join("\n")).toMatch(/^\d+ update nodes$/m);
    expect(creation?.changes.filter((change) => change === "POST /load_balancers")).toHaveLength(12);
    expect(takeOver.requests).toBeGreaterThan(0);
    expect(takeOver).toMatchObject({ changes: [], writes: [], differences: [] });
    expect(byFairlead?.changes).toContain("POST /load_balancers/{id}/actions/change_type");
    expect(back).toMatchObject({ writes: [], differences: [] });
    expect(byPeer?.changes).toContain("DELETE /load_balancers/{id}");
  },
);

test.concurrent("the rehearsal reports changes, writes and differences when the peer had different settings", async () => {
  const settings = "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP=true HCLOUD_LOAD_BALANCERS_DISABLE_IPV6=true";
  const peer = `env ${settings} ${fairlead}`;
  const takeOver = await rehearse({ cloud, peer, isWhole: false, report: () => undefined });
  expect(isClean(takeOver)).toBe(false);
  expect(takeOver.changes).toContain("POST /load_balancers/{id}/actions/add_target");
  expect(takeOver.writes.join()).toMatch(/^\d+ patch services\/status$/);
  expect(takeOver.differences.join("\n")).toMatch(/^Service plain: loadBalancer was .* and is .*2001:db8/m);
});
