import { describe, expect, test } from "bun:test";
import {
  addProof,
  awaited,
  type Evidence,
  judge,
  type Proof,
  type ProofRule,
} from "../../../src/controllers/kernel/proof.ts";
import { seconds } from "../../../src/core/brand.ts";
import { defined } from "../../../src/core/defined.ts";

// When an object that answers lack counts as absent, as a table; times in seconds.

type Answered = readonly [kind: Proof["kind"], began: number, known?: number];

const proofsOf = (answers: readonly Answered[]): readonly Proof[] =>
  answers.reduce<readonly Proof[]>(
    (proofs, [kind, began, known = began]) =>
      addProof(proofs, { kind, beganAt: seconds(began), knownAt: seconds(known) }),
    [],
  );
const nextProof = (proofs: readonly Proof[], given: ProofRule) =>
  awaited(judge({ certainty: "exists", proofs }, given));
const rule = (more: Partial<ProofRule> = {}): ProofRule => ({
  confirmAfter: seconds(30),
  kinds: ["listing"],
  ...more,
});
const both = rule({ kinds: ["listing", "lookup"] });
const restarted = rule({ restartedAt: seconds(100) });
const upstream = rule({ confirmAfter: seconds(0) });

const cases: readonly [
  string,
  readonly Answered[],
  ProofRule,
  readonly [number?, Proof["kind"]?] | "proved",
][] = [
  ["no answer", [], rule(), []],
  ["one answer", [["listing", 5]], rule(), [35]],
  ["one slow answer", [["listing", 0, 29]], rule(), [59]],
  [
    "the same answer twice",
    [
      ["listing", 5],
      ["listing", 5, 90],
    ],
    rule(),
    [35],
  ],
  [
    "two answers that are too close",
    [
      ["listing", 0],
      ["listing", 29],
    ],
    rule(),
    [30],
  ],
  [
    "two answers that are far enough apart",
    [
      ["listing", 0],
      ["listing", 30],
    ],
    rule(),
    "proved",
  ],
  // Both may have observed almost the same moment.
  [
    "two slow answers that began 30 s apart",
    [
      ["listing", 0, 29],
      ["listing", 30, 59],
    ],
    rule(),
    [59],
  ],
  [
    "two slow answers that are far enough apart",
    [
      ["listing", 0, 29],
      ["listing", 59, 88],
    ],
    rule(),
    "proved",
  ],
  [
    "two listings where a lookup is possible",
    [
      ["listing", 0],
      ["listing", 60],
    ],
    both,
    [30, "lookup"],
  ],
  [
    "both kinds of answers too close together",
    [
      ["lookup", 0],
      ["listing", 1],
    ],
    both,
    [30],
  ],
  [
    "both kinds of answers at the same moment",
    [
      ["lookup", 0],
      ["listing", 0],
    ],
    both,
    [30],
  ],
  [
    "both kinds of answers far enough apart",
    [
      ["lookup", 0],
      ["listing", 30],
    ],
    both,
    "proved",
  ],
  [
    "answers from before the end of a hold",
    [
      ["listing", 0],
      ["listing", 90],
    ],
    restarted,
    [130, "listing"],
  ],
  [
    "one answer after the end of a hold",
    [
      ["listing", 0],
      ["listing", 101],
    ],
    restarted,
    [130],
  ],
  [
    "a late answer after the end of a hold",
    [
      ["listing", 0],
      ["listing", 130],
    ],
    restarted,
    "proved",
  ],
  ["one answer where one is enough", [["listing", 5]], upstream, "proved"],
  ["no answer where one is enough", [], upstream, []],
  [
    "one answer where one is enough, from before the end of a hold",
    [["listing", 5]],
    { ...upstream, restartedAt: seconds(100) },
    [100],
  ],
];

test.each(cases)("%s leads to the correct next answer [F21]", (_, answers, given, expected) => {
  const next = nextProof(proofsOf(answers), given);
  if (expected === "proved") expect(next).toBeUndefined();
  else expect(next as unknown).toEqual(defined({ at: expected[0] && expected[0] * 1000, kind: expected[1] }));
});

describe("an object that is not shown", () => {
  const one = proofsOf([["listing", 5]]);
  const two = proofsOf([
    ["listing", 5],
    ["listing", 35],
  ]);
  const judged = (evidence: Evidence) => judge(evidence, rule()).kind;

  test("an absent object is new when nothing proves that it existed, however many answers lack it", () => {
    expect([judged({ proofs: [] }), judged({ proofs: two })]).toEqual(["new", "new"]);
  });

  test("an absent object stays uncertain if only a request with an unknown outcome may have created it", () => {
    expect(judge({ certainty: "possible", proofs: one }, rule())).toEqual({
      kind: "uncertain",
      next: { at: seconds(35) },
    });
    expect(judge({ certainty: "possible", proofs: two }, rule())).toEqual({ kind: "uncertain" });
  });

  test("an absent object that existed is unproved, and later proved", () => {
    expect([
      judged({ certainty: "exists", proofs: one }),
      judged({ certainty: "exists", proofs: two }),
    ]).toEqual(["unproved", "proved"]);
  });

  test("an absence keeps its first answer and a limited number of later answers, however long it lasts", () => {
    const many = proofsOf(Array.from({ length: 100 }, (_, index) => ["listing", index] as const));
    expect(many.map(({ beganAt }) => beganAt / 1000)).toEqual([0, 93, 94, 95, 96, 97, 98, 99]);
  });
});

test("the time of the next answer does not depend on answers that arrive earlier", () => {
  const early = [5, 12, 20, 34].map((began) => ["listing", began] as const);
  for (const count of [1, 2, 3, 4]) {
    expect(nextProof(proofsOf(early.slice(0, count)), rule())).toEqual({ at: seconds(35) });
  }
});
