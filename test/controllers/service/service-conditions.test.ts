import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { conditionsFor } from "../../../src/controllers/service/status/problems-to-conditions.ts";
import type { Problem } from "../../../src/core/problem.ts";
import type { ServiceCondition } from "../../../src/kube/objects.ts";
import { toService } from "./service-draft.ts";

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

describe("conditions of a Service [F54 N8]", () => {
  test("there is none while nothing is wrong", () => {
    expect(conditionsFor(toService(), [], noon)).toEqual({
      conditions: [],
      isChanged: false,
      isWorthAWrite: false,
    });
  });

  test("an error shows, with its reason, beside those of others", () => {
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

  test("a warning alone is no reason for a write, and rides on one that is needed", () => {
    const plan = conditionsFor(toService(), [warning("UnknownAnnotation", "What?")], noon);
    expect(plan).toMatchObject({ isChanged: true, isWorthAWrite: false });
    expect(plan.conditions).toMatchObject([
      { type: "CloudWarning", status: "True", reason: "UnknownAnnotation" },
    ]);
  });

  test("what is right again is taken away, and only that", () => {
    const { conditions } = conditionsFor(
      withConditions([foreign]),
      [error("A", "a"), warning("B", "b")],
      noon,
    );
    const plan = conditionsFor(withConditions(conditions), [], later);
    expect(plan).toEqual({
      conditions: [foreign],
      isChanged: true,
      isWorthAWrite: true,
    });
  });

  test("the same trouble later is no news; another one keeps the time of the transition", () => {
    const { conditions } = conditionsFor(toService(), [error("A", "a")], noon);
    const requeue = conditionsFor(withConditions(conditions), [error("A", "a")], later);
    expect(requeue).toMatchObject({ conditions, isChanged: false, isWorthAWrite: false });
    const other = conditionsFor(withConditions(conditions), [error("B", "b")], later);
    expect(other).toMatchObject({ isChanged: true, isWorthAWrite: true });
    expect(other.conditions).toMatchObject([{ reason: "B", lastTransitionTime: "2026-01-01T12:00:00Z" }]);
  });

  test("reasons and messages are as Kubernetes takes them", () => {
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

  test("settles: what was written once is not written again, in whatever order it is found", () => {
    fc.assert(
      fc.property(
        problems.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([list, shuffled]) => {
          const { conditions } = conditionsFor(withConditions([foreign]), list, noon);
          const requeue = conditionsFor(withConditions(conditions), shuffled, later);
          expect(requeue).toEqual({ conditions, isChanged: false, isWorthAWrite: false });
          expect(conditions).toContain(foreign);
          for (const { reason = "" } of conditions) {
            expect(reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
          }
        },
      ),
    );
  });
});
