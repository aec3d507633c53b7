import { expect, test } from "bun:test";
import type { Evidence } from "../../../../src/controllers/kernel/proof.ts";
import { unprovedAbsence } from "../../../../src/controllers/service/observe/balancer-absence.ts";
import { seconds } from "../../../../src/core/brand.ts";

// When a load balancer that is not shown counts as absent, as a table; times in seconds.

const at = (time: number) => time * 1000;
const listing = (began: number, known = began) => ({ beganAt: at(began), knownAt: at(known) });
const missing = (first: number, last: number) => ({
  proofs: [...new Set([first, last])].map((time) => ({ kind: "listing" as const, ...listing(time) })),
});
const judge = (known: Evidence, now: number) =>
  unprovedAbsence({ known, confirmAfter: seconds(30), listedAt: at(now) });

test.each<[string, Evidence, "certain" | "unproved"]>([
  ["a load balancer that never existed", { proofs: [] }, "certain"],
  ["a load balancer that no listing lacks yet", { certainty: "exists", proofs: [] }, "unproved"],
  ["a load balancer that a single listing lacks", { certainty: "exists", ...missing(40, 40) }, "unproved"],
  ["a load balancer that listings lack for 29 s", { certainty: "exists", ...missing(40, 69) }, "unproved"],
  ["a load balancer that listings lack for 30 s", { certainty: "exists", ...missing(40, 70) }, "certain"],
  [
    "a load balancer that a lookup did not find",
    { certainty: "exists", proofs: [], notFoundAt: at(60) },
    "certain",
  ],
  ["a load balancer that may exist", { certainty: "possible", ...missing(40, 41) }, "unproved"],
])("decides about the absence of %s", (_, known, expected) => {
  expect(judge(known, 70) === undefined ? "certain" : "unproved").toBe(expected);
});

test.each([
  [40, 42],
  [42, 44],
  [44, 48],
  [48, 56],
  [56, 70],
])(
  "a new load balancer that is missing since 40 s and in the listing at %i s is checked at %i s",
  (last, expected) => {
    const known: Evidence = { certainty: "exists", changedAt: at(39), ...missing(40, last) };
    expect(judge(known, last)).toMatchObject({
      checkAt: at(expected),
      decidedAt: at(70),
      isExpected: true,
    });
  },
);

test("without any listing of a load balancer, the decision is due at a time that depends only on the last listing", () => {
  const unknown: Evidence = { certainty: "exists", proofs: [] };
  expect(judge(unknown, 70)).toMatchObject({ checkAt: at(100), decidedAt: at(100) });
  const possible: Evidence = { certainty: "possible", proofs: [] };
  expect(judge(possible, 70)).toMatchObject({ checkAt: at(72), decidedAt: at(100) });
});

test("an old load balancer that is missing is checked once, when the decision is due", () => {
  const known: Evidence = { certainty: "exists", ...missing(40, 40) };
  expect(judge(known, 40)).toMatchObject({ checkAt: at(70), decidedAt: at(70), isExpected: false });
});

const afterHold = (known: Evidence) =>
  unprovedAbsence({ known, confirmAfter: seconds(30), restartedAt: at(80), listedAt: at(85) });

test("listings from before the end of a hold do not prove the absence of a load balancer", () => {
  expect(afterHold({ certainty: "exists", ...missing(0, 79) })).toMatchObject({ decidedAt: at(110) });
  expect(afterHold({ certainty: "exists", ...missing(0, 110) })).toBeUndefined();
});

test("a failed lookup of a load balancer proves nothing after a hold unless it began after the hold", () => {
  const notFound = { certainty: "exists", proofs: [] } as const;
  expect(afterHold({ ...notFound, notFoundAt: at(109) })).toMatchObject({ decidedAt: at(115) });
  expect(afterHold({ ...notFound, notFoundAt: at(110) })).toBeUndefined();
});

test("a removal by Fairlead needs a listing without the load balancer that began after the end of a hold", () => {
  const removed = { certainty: "exists", removedAt: at(70) } as const;
  expect(afterHold({ ...removed, ...missing(79, 79) })).toMatchObject({ decidedAt: at(80) });
  expect(afterHold({ ...removed, ...missing(79, 81) })).toBeUndefined();
});
