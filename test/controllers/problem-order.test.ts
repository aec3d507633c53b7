import { describe, expect, test } from "bun:test";
import { allReasons } from "../../scripts/docs/reasons/all.ts";
import { byBlocking } from "../../src/controllers/problem-order.ts";
import type { Problem } from "../../src/core/problem.ts";

type Ranked = Pick<Problem, "severity" | "reason" | "cause">;

const problem = (reason: string, more: Partial<Ranked> = {}): Ranked => ({
  severity: "error",
  reason,
  ...more,
});
const hint = (reason: string): Ranked => problem(reason, { severity: "warning" });
const reasonsOf = (items: readonly Ranked[]) => byBlocking(items).map(({ reason }) => reason);

/** From a problem that blocks everything to a hint. */
const inOrder: readonly Ranked[] = [
  problem("ControllerDisabled"),
  problem("SyncLoadBalancerFailed", { cause: "CloudAuthFailed" }),
  problem("CloudUnavailable"),
  problem("UpdateLoadBalancerFailed", { cause: "QuotaExceeded" }),
  problem("CloudThrottled"),
  problem("BelongsToOtherCluster"),
  { severity: "hold", reason: "MassRecreationHeld" },
  problem("InvalidAnnotation"),
  { severity: "hold", reason: "LoadBalancerMissing" },
  hint("TargetsUnreachable"),
  hint("LoadBalancerDrift"),
  hint("LoadBalancerTypeDeprecated"),
  { severity: "notice", reason: "ForeignNode" },
];

describe("byBlocking", () => {
  test("puts the most blocking problem first, from credentials to hints [N7]", () => {
    const expected = inOrder.map(({ reason }) => reason);
    expect(reasonsOf(inOrder.toReversed())).toEqual(expected);
    expect(reasonsOf(inOrder)).toEqual(expected);
  });

  test("ranks a warning below every wait, even with a reason that blocks as an error", () => {
    expect(reasonsOf([hint("BelongsToOtherCluster"), { severity: "wait", reason: "Standby" }])).toEqual([
      "Standby",
      "BelongsToOtherCluster",
    ]);
  });

  test("keeps the order of problems that block equally", () => {
    expect(reasonsOf([problem("Second"), problem("First"), problem("Third")])).toEqual([
      "Second",
      "First",
      "Third",
    ]);
  });

  test("ranks every documented reason, and ends each list with the hint", () => {
    for (const reason of Object.keys(allReasons)) {
      const [first] = reasonsOf([hint("AnyHint"), problem(reason)]);
      expect(first).toBe(reason);
    }
  });
});
