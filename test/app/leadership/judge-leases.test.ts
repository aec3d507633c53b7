import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { judgeLease, judgeSeveral, type LeaseFact } from "../../../src/app/leadership/judge-leases.ts";
import { replicaIdentity } from "../../../src/app/leadership/replica-identity.ts";
import { leaderTexts } from "../../../src/app/report/manager-report.ts";
import { seconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";

const platform = { environment: { HOSTNAME: "m1" }, random: seededRandom(1) };
const { flags } = readFlags([]);
const asker = { flags, program: "fake-cloud-controller-manager" };
const held: LeaseFact = {
  name: "ccm",
  holder: "m1_a",
  program: undefined,
  renewTime: "2026-01-01T11:00:00Z",
};
const textsFor = (lease: Partial<LeaseFact>, leads = false) =>
  leaderTexts({ ...asker, leads: () => leads, leases: () => [{ ...held, ...lease }] });

const cases: readonly (readonly [string, LeaseFact | undefined, string, string | undefined])[] = [
  ["of this program", { ...held, program: asker.program }, "leads", undefined],
  ["of an unknown program", held, "leads", undefined],
  [
    "that does not exist",
    undefined,
    "none",
    "No manager leads: the Lease kube-system/cloud-controller-manager does not exist.",
  ],
  ["without a holder", { ...held, holder: "" }, "none", "the Lease kube-system/ccm has no holder."],
  [
    "that has expired",
    { ...held, isExpired: true },
    "none",
    "the Lease kube-system/ccm of m1_a was last renewed at 2026-01-01T11:00:00Z, and not within its duration.",
  ],
  [
    "that has expired by a clock that may be wrong",
    { ...held, isExpired: true, age: seconds(310) },
    "none",
    "at 2026-01-01T11:00:00Z, 5m10s ago by the clock of this machine, and not within its duration.",
  ],
  [
    "of an observer",
    { ...held, holder: "m1_a-observe" },
    "none",
    "with --mode=observe, so it changes nothing",
  ],
  [
    "of another program",
    { ...held, program: "hcloud-cloud-controller-manager" },
    "other",
    "m1_a leads: it holds the Lease kube-system/ccm, and the program that renews it is hcloud-cloud-controller-manager, not fake-cloud-controller-manager.",
  ],
];
test.each(cases)("determines the leader from a Lease %s [N7]", (_, lease, kind, problem) => {
  const judged = judgeLease(lease, asker);
  expect(judged.kind).toBe(kind as "leads");
  if (problem === undefined) expect(judged.found).toBeUndefined();
  else expect(judged.found?.text).toContain(problem);
});

test("counts a manager with two Leases once, and names both if there are two managers [N7]", () => {
  const second = { ...held, name: "migration" };
  expect(judgeSeveral([held, second], flags)).toBeUndefined();
  expect(judgeSeveral([held, { ...second, holder: "m2_b", program: "go-ccm" }], flags)?.text).toBe(
    "Several managers lead at the same time, each with its own Lease: m1_a holds the Lease kube-system/ccm; m2_b (go-ccm) holds the Lease kube-system/migration.",
  );
});

test("a replica in observe mode shows the mode in its identity, and no page counts it as a leader [N7]", () => {
  const observer = replicaIdentity(platform, "fake-cloud-controller-manager", "observe");
  expect(observer).toMatch(/^m1_[0-9a-f-]{36}-observe$/);
  const noLeader = `No manager leads: ${observer} holds the Lease kube-system/ccm with --mode=observe, so it changes nothing, and keeps others from leading. Nothing is changed in the cloud or the cluster until a manager leads. Restart it without --mode=observe, or without --leader-elect.`;
  const texts = { noLeader, otherLeader: undefined };
  expect([textsFor({ holder: observer }), textsFor({ holder: observer }, true)]).toEqual([texts, texts]);
});

test("a replica that may lead has an identity in upstream's format, and its pages name no other leader", () => {
  const holder = replicaIdentity(platform, "fake-cloud-controller-manager", "enforce");
  expect(holder).toMatch(/^m1_[0-9a-f-]{36}$/);
  const none = { noLeader: undefined, otherLeader: undefined };
  expect([textsFor({ holder }), textsFor({ holder }, true)]).toEqual([none, none]);
});

test("the pages of a manager name another program that leads, unless the manager leads itself [N7]", () => {
  const other = { program: "hcloud-cloud-controller-manager" };
  expect(textsFor(other).otherLeader).toStartWith("m1_a leads: it holds the Lease kube-system/ccm");
  expect(textsFor(other, true).otherLeader).toBeUndefined();
});
