import { expect, test } from "bun:test";
import { type Existence, Ledger } from "../../../../src/controllers/kernel/ledger.ts";
import { absenceOf } from "../../../../src/controllers/service/observed/balancer-absence.ts";
import { seconds } from "../../../../src/core/brand.ts";

// When a load balancer that is not shown counts as absent, as a table; times in seconds.

const at = (time: number) => time * 1000;
const listing = (began: number, known = began) => ({ beganAt: at(began), knownAt: at(known) });
const missing = (first: number, last: number) => ({
  proofs: [...new Set([first, last])].map((time) => ({ kind: "listing" as const, ...listing(time) })),
});
const judge = (known: Existence, now: number) =>
  absenceOf({ known, confirmAfter: seconds(30), listedAt: at(now) });

test.each<[string, Existence, "certain" | "unproved"]>([
  ["one that never existed", { proofs: [] }, "certain"],
  ["one that no listing lacks yet", { certainty: "exists", proofs: [] }, "unproved"],
  ["one that a single listing lacks", { certainty: "exists", ...missing(40, 40) }, "unproved"],
  ["one that listings lack for 29 s", { certainty: "exists", ...missing(40, 69) }, "unproved"],
  ["one that listings lack for 30 s", { certainty: "exists", ...missing(40, 70) }, "certain"],
  ["one that a lookup did not find", { certainty: "exists", proofs: [], notFoundAt: at(60) }, "certain"],
  ["one that may exist", { certainty: "possible", ...missing(40, 41) }, "unproved"],
])("the absence of %s", (_, known, expected) => {
  expect(judge(known, 70).kind).toBe(expected);
});

test.each([
  [40, 42],
  [42, 44],
  [44, 48],
  [48, 56],
  [56, 70],
])(
  "a new load balancer that is missing since 40 and in the listing of %i is looked for at %i",
  (last, expected) => {
    const known: Existence = { certainty: "exists", changedAt: at(39), ...missing(40, last) };
    expect(judge(known, last)).toMatchObject({
      checkAt: at(expected),
      decidedAt: at(70),
      isExpected: true,
    });
  },
);

test("one about which no listing says anything is decided at a time that depends on the last listing only", () => {
  const unknown: Existence = { certainty: "exists", proofs: [] };
  expect(judge(unknown, 70)).toMatchObject({ checkAt: at(100), decidedAt: at(100) });
  const possible: Existence = { certainty: "possible", proofs: [] };
  expect(judge(possible, 70)).toMatchObject({ checkAt: at(72), decidedAt: at(100) });
});

test("an old load balancer that is missing is looked for once, when the decision is due", () => {
  const known: Existence = { certainty: "exists", ...missing(40, 40) };
  expect(judge(known, 40)).toMatchObject({ checkAt: at(70), decidedAt: at(70), isExpected: false });
});

const list = (evidence: Ledger, time: number, { isShown }: { readonly isShown: boolean }) =>
  evidence.noteListing(listing(time), isShown);
const shown = { isShown: true };
const lacking = { isShown: false };

test("a proof lasts from when the first listing was known to when the last one began", () => {
  const evidence = new Ledger();
  evidence.noteShown();
  evidence.noteListing(listing(5, 20), false);
  evidence.noteListing(listing(20, 40), false);
  expect(judge(evidence, 40)).toMatchObject({ kind: "unproved", decidedAt: at(50) });
  evidence.noteListing(listing(50, 51), false);
  expect(judge(evidence, 51)).toEqual({ kind: "certain" });
});

test("one listing that shows the load balancer discards the proof", () => {
  const evidence = new Ledger();
  evidence.noteShown();
  list(evidence, 0, lacking);
  list(evidence, 20, shown);
  list(evidence, 40, lacking);
  expect(evidence).toMatchObject({ certainty: "exists", ...missing(40, 40) });
});

test("a lookup soon after a change proves nothing", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(10), "exists");
  evidence.noteLookup(listing(39), seconds(30));
  expect(evidence.notFoundAt).toBeUndefined();
  evidence.noteLookup(listing(40), seconds(30));
  expect(evidence.notFoundAt).toBe(at(40));
});

test.each(["exists", "possible"] as const)(
  "a lookup soon after a session began proves nothing about one that %s, because it may lag behind the former leader",
  (certainty) => {
    const evidence = new Ledger();
    if (certainty === "exists") evidence.noteShown();
    evidence.expect(certainty, at(10));
    evidence.noteLookup(listing(39), seconds(30));
    expect(evidence.notFoundAt).toBeUndefined();
    evidence.noteLookup(listing(40), seconds(30));
    expect(evidence.notFoundAt).toBe(at(40));
  },
);

test("one read without it is enough after Fairlead removed it, also if a read that lags showed it once more", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(0), "exists");
  evidence.noteRemoved(at(10));
  expect(evidence.certainty).toBeUndefined();
  list(evidence, 11, shown);
  expect(judge(evidence, 11).kind).toBe("unproved");
  list(evidence, 13, lacking);
  expect(judge(evidence, 13).kind).toBe("certain");
});

test.each([
  ["it was shown for longer than a proof takes", (evidence: Ledger) => list(evidence, 39, shown)],
  ["a step changed it since", (evidence: Ledger) => evidence.noteChange(at(38), "exists")],
  ["another process may have changed it since", (evidence: Ledger) => evidence.restart()],
])("one read without it is not enough after a removal if %s", (_, happen) => {
  const evidence = new Ledger();
  evidence.noteRemoved(at(10));
  list(evidence, 11, shown);
  happen(evidence);
  list(evidence, 40, lacking);
  expect(judge(evidence, 40).kind).toBe("unproved");
});

const afterHold = (known: Existence) =>
  absenceOf({ known, confirmAfter: seconds(30), restartedAt: at(80), listedAt: at(85) });

test("listings without a load balancer from before the end of a hold prove nothing", () => {
  expect(afterHold({ certainty: "exists", ...missing(0, 79) })).toMatchObject({ decidedAt: at(110) });
  expect(afterHold({ certainty: "exists", ...missing(0, 110) })).toEqual({ kind: "certain" });
});

test("a lookup that did not find a load balancer proves nothing after a hold unless it began since then", () => {
  const notFound = { certainty: "exists", proofs: [] } as const;
  expect(afterHold({ ...notFound, notFoundAt: at(79) })).toMatchObject({ decidedAt: at(115) });
  expect(afterHold({ ...notFound, notFoundAt: at(80) })).toEqual({ kind: "certain" });
});

test("a removal by Fairlead needs a listing without the load balancer that began after the end of a hold", () => {
  const removed = { certainty: "exists", removedAt: at(70) } as const;
  expect(afterHold({ ...removed, ...missing(79, 79) })).toMatchObject({ decidedAt: at(80) });
  expect(afterHold({ ...removed, ...missing(79, 81) })).toEqual({ kind: "certain" });
});

test("one that only may exist counts as existing when its Service shows the address that another leader wrote", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(10), "possible");
  evidence.expect(undefined, at(15));
  expect(evidence.certainty).toBe("possible");
  list(evidence, 20, lacking);
  evidence.expect("exists", at(20));
  expect(evidence).toMatchObject({ certainty: "exists", changedAt: at(10), ...missing(20, 20) });
  evidence.expect("possible", at(20));
  expect(evidence.certainty).toBe("exists");
});
