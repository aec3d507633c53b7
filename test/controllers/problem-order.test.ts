import { describe, expect, test } from "bun:test";
import { allReasons } from "../../scripts/docs/reasons/all.ts";
import { byBlocking, type Ranked } from "../../src/controllers/problem-order.ts";

const problem = (reason: string, more: Partial<Ranked> = {}): Ranked => ({
  kind: "problem",
  reason,
  ...more,
});
const hint = (reason: string): Ranked => problem(reason, { severity: "warning" });
const reasonsOf = (items: readonly Ranked[]) => byBlocking(items, (item) => item).map(({ reason }) => reason);

/** From what blocks everything to a hint. */
const inOrder: readonly Ranked[] = [
  problem("ControllerDisabled"),
  problem("SyncLoadBalancerFailed", { cause: "CloudAuthFailed" }),
  problem("CloudUnavailable"),
  problem("UpdateLoadBalancerFailed", { cause: "QuotaExceeded" }),
  problem("CloudThrottled"),
  problem("BelongsToOtherCluster"),
  { kind: "hold", reason: "MassRecreationHeld" },
  problem("InvalidAnnotation"),
  { kind: "hold", reason: "LoadBalancerMissing" },
  hint("TargetsUnreachable"),
  hint("LoadBalancerDrift"),
  hint("LoadBalancerTypeDeprecated"),
  { kind: "notice", reason: "Notice" },
];

describe("byBlocking", () => {
  test("puts what blocks first at the top, from the credentials to hints [N7]", () => {
    const expected = inOrder.map(({ reason }) => reason);
    expect(reasonsOf(inOrder.toReversed())).toEqual(expected);
    expect(reasonsOf(inOrder)).toEqual(expected);
  });

  test("ranks a warning below every wait, also with a reason that blocks as an error", () => {
    expect(reasonsOf([hint("BelongsToOtherCluster"), { kind: "wait", reason: "Standby" }])).toEqual([
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
