import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { replicaIdentity } from "../../../src/app/leadership/replica-identity.ts";
import { noLeaderText } from "../../../src/app/report/manager-report.ts";
import { seededRandom } from "../../../src/platform/random.ts";

const platform = { environment: { HOSTNAME: "m1" }, random: seededRandom(1) };
const { flags } = readFlags([]);
const textFor = (holder: string, leads = false): string | undefined =>
  noLeaderText({ flags, leads: () => leads, holders: () => ({ ccm: holder }) });

test("a replica in observe mode says so in its identity, and counts as no leader on every page [N7]", () => {
  const observer = replicaIdentity(platform, "fake-cloud-controller-manager", "observe");
  expect(observer).toMatch(/^m1_[0-9a-f-]{36}-observe$/);
  const text = `No manager leads: ${observer} holds the Lease kube-system/ccm with --mode=observe, so it changes nothing, and keeps others from leading. Restart it without --mode=observe, or without --leader-elect.`;
  expect([textFor(observer), textFor(observer, true)]).toEqual([text, text]);
});

test("a replica that may lead has an identity as in upstream", () => {
  const leader = replicaIdentity(platform, "fake-cloud-controller-manager", "enforce");
  expect(leader).toMatch(/^m1_[0-9a-f-]{36}$/);
  expect([textFor(leader), textFor(leader, true)]).toEqual([undefined, undefined]);
});
