import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { writeErrorCondition } from "../../../../src/controllers/service/status/service-reporter.ts";
import { conditionsFor } from "../../../../src/controllers/service/status/status.ts";
import type { Problem } from "../../../../src/core/problem.ts";
import type { ServiceCondition } from "../../../../src/kube/objects.ts";
import { toService } from "../service-draft.ts";

const error = (reason: string, text: string): Problem => ({ severity: "error", reason, text });
const warning = (reason: string, text: string): Problem => ({ severity: "warning", reason, text });
const foreign: ServiceCondition = {
  type: "LoadBalancerPortsError",
  status: "True",
  reason: "X",
  message: "y",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const withConditions = (conditions: readonly ServiceCondition[]) =>
  toService({ status: { loadBalancer: {}, conditions } });
const noon = Date.parse("2026-01-01T12:00:00.500Z");
const later = noon + 60_000;

describe("conditionsFor [F54 N8]", () => {
  test("returns no condition without problems", () => {
    expect(conditionsFor(toService(), [], noon)).toEqual({
      conditions: [],
      isChanged: false,
      isErrorChanged: false,
      isWorthAWrite: false,
    });
  });

  test("adds an error with its reason and keeps foreign conditions", () => {
    const plan = conditionsFor(withConditions([foreign]), [error("QuotaExceeded", "No more.")], noon);
    expect(plan).toMatchObject({ isChanged: true, isWorthAWrite: true });
    expect(plan.conditions).toEqual([
      foreign,
      {
        type: "CloudReady",
        status: "False",
        reason: "QuotaExceeded",
        message: "No more.",
        lastTransitionTime: "2026-01-01T12:00:00Z",
      },
    ]);
  });

  test("does not request a write for a warning alone, but includes it in other writes", () => {
    const plan = conditionsFor(toService(), [warning("UnknownAnnotation", "What?")], noon);
    expect(plan).toMatchObject({ isChanged: true, isWorthAWrite: false });
    expect(plan.conditions).toMatchObject([
      { type: "CloudWarning", status: "True", reason: "UnknownAnnotation" },
    ]);
  });

  test("requests a write when another warning replaces one, but not for a different text of the same warning", () => {
    const { conditions } = conditionsFor(toService(), [warning("OfOtherCluster", "b6")], noon);
    const replaced = conditionsFor(withConditions(conditions), [warning("NoNodes", "None.")], later);
    expect(replaced).toMatchObject({ isChanged: true, isWorthAWrite: true });
    expect(replaced.conditions).toMatchObject([{ reason: "NoNodes" }]);
    const first = [warning("Another", "a"), warning("OfOtherCluster", "b6")];
    const preceded = conditionsFor(withConditions(conditions), first, later);
    expect(preceded).toMatchObject({ isChanged: true, isWorthAWrite: false });
    const reworded = conditionsFor(withConditions(conditions), [warning("OfOtherCluster", "b7")], later);
    expect(reworded).toMatchObject({ isChanged: true, isWorthAWrite: false });
  });

  test("removes only the conditions of solved problems", () => {
    const { conditions } = conditionsFor(
      withConditions([foreign]),
      [error("A", "a"), warning("B", "b")],
      noon,
    );
    const plan = conditionsFor(withConditions(conditions), [], later);
    expect(plan).toEqual({
      conditions: [foreign],
      isChanged: true,
      isErrorChanged: true,
      isWorthAWrite: true,
    });
  });

  test("ignores a repeated problem, and keeps the transition time when the problem changes", () => {
    const { conditions } = conditionsFor(toService(), [error("A", "a")], noon);
    const repeated = conditionsFor(withConditions(conditions), [error("A", "a")], later);
    expect(repeated).toMatchObject({ conditions, isChanged: false, isWorthAWrite: false });
    const other = conditionsFor(withConditions(conditions), [error("B", "b")], later);
    expect(other).toMatchObject({ isChanged: true, isWorthAWrite: true });
    expect(other.conditions).toMatchObject([{ reason: "B", lastTransitionTime: "2026-01-01T12:00:00Z" }]);
  });

  test("limits reasons and messages to what Kubernetes accepts", () => {
    const [condition] = conditionsFor(
      toService(),
      [error("1 wrong-reason!", "x".repeat(5000))],
      noon,
    ).conditions;
    expect(condition?.reason).toBe("wrongreason");
    expect(condition?.message?.length).toBe(1024);
    expect(conditionsFor(toService(), [error("", "x")], noon).conditions).toMatchObject([
      { reason: "Unspecified" },
    ]);
  });

  const problems = fc.array(
    fc.record({
      severity: fc.constantFrom("error" as const, "warning" as const),
      reason: fc.string(),
      text: fc.string({ maxLength: 10 }),
    }),
    { maxLength: 5 },
  );

  test("does not change written conditions, in any order of problems", () => {
    fc.assert(
      fc.property(
        problems.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([list, shuffled]) => {
          const { conditions } = conditionsFor(withConditions([foreign]), list, noon);
          const repeated = conditionsFor(withConditions(conditions), shuffled, later);
          expect(repeated).toEqual({
            conditions,
            isChanged: false,
            isErrorChanged: false,
            isWorthAWrite: false,
          });
          expect(conditions).toContain(foreign);
          for (const { reason = "" } of conditions) {
            expect(reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
          }
        },
      ),
    );
  });
});

test("stages that know different warnings do not write them one after another", async () => {
  const invalid = error("InvalidAnnotation", "x");
  const { conditions } = conditionsFor(toService(), [invalid, warning("OfThePlan", "p")], noon);
  const service = withConditions(conditions);
  const written: unknown[] = [];
  const controller = {
    services: { get: () => service },
    writes: { patch: async (_: unknown, patch: unknown) => void written.push(patch) },
    clock: { now: () => later },
  };
  const call = { signal: new AbortController().signal };
  const write = (problems: readonly Problem[]) =>
    writeErrorCondition({ controller, call } as never, service, problems);
  await write([invalid, warning("UnknownAnnotation", "u")]);
  await write([invalid, warning("OfThePlan", "p")]);
  expect(written).toEqual([]);
  await write([error("QuotaExceeded", "q")]);
  expect(written).toHaveLength(1);
});
