import { describe, expect, test } from "bun:test";
import { conditionsFor } from "../../../../src/controllers/service/status/status.ts";
import {
  summarizeHealth,
  unhealthyTargets,
} from "../../../../src/controllers/service/status/target-health.ts";
import { messageIn } from "../../../../src/core/problem.ts";
import type { ServiceCondition } from "../../../../src/kube/objects.ts";
import { toService } from "../service-draft.ts";

const check = (target: string, isHealthy: boolean, text = "port 80") => ({ target, isHealthy, text });

describe("summarizeHealth", () => {
  test("counts a target as unhealthy if one of its checks fails [F115]", () => {
    const checks = [check("a", true), check("a", false, "port 443"), check("b", true), check("b", true)];
    expect(summarizeHealth(checks)).toEqual({ healthy: 1, unhealthy: 1, why: "port 443 (a)" });
  });

  test("target health is unknown while no check has a result [F115]", () => {
    expect(summarizeHealth([])).toBeUndefined();
  });

  test("groups the targets by failure, the most frequent first [F115]", () => {
    const checks = [check("c", false), check("b", false), check("a", false, "port 443: refused")];
    expect(summarizeHealth(checks)).toEqual({
      healthy: 0,
      unhealthy: 3,
      why: "port 80 (b, c); port 443: refused (a)",
    });
  });

  test("limits the texts of a cloud, and removes their control characters [F115]", () => {
    const hostile = Array.from({ length: 5000 }, (_, index) =>
      check(`${"n".repeat(1000)}${index}`, false, `\u001b[31m\n${"x".repeat(10_000)}${index}`),
    );
    const { unhealthy, why } = summarizeHealth(hostile) ?? { unhealthy: 0, why: "" };
    expect([unhealthy, why.length < 700, why.includes("\u001b")]).toEqual([5000, true, false]);
  });
});

describe("the condition TargetsUnhealthy", () => {
  const service = toService();
  const noon = Date.parse("2026-01-01T12:00:00Z");
  const problem = (checks: Parameters<typeof summarizeHealth>[0]) => {
    const summary = summarizeHealth(checks);
    return [(summary && unhealthyTargets(service, summary)) ?? []].flat();
  };
  const shown = (conditions: readonly ServiceCondition[]) =>
    toService({ status: { loadBalancer: {}, conditions } });
  const all = problem([check("a", false), check("b", false)]);
  const some = problem([check("a", false), check("b", true)]);

  test("the condition TargetsUnhealthy names the failure, its effect, and how to find the cause [F115]", () => {
    expect(all.map(messageIn)).toEqual([
      "The cloud's health checks fail for all 2 targets of the load balancer: port 80 (a, b). Requests to the address of the Service fail. Check that the Service has ready pods (`kubectl -n default get endpointslices -l kubernetes.io/service-name=web`), that they listen on its target ports, and that no firewall blocks the node ports. With externalTrafficPolicy: Local, only Nodes with a pod are healthy.",
    ]);
    expect(some.map(messageIn)[0]).toStartWith(
      "The cloud's health checks fail for 1 of 2 targets of the load balancer: port 80 (a).",
    );
  });

  test("writes and removes the condition TargetsUnhealthy, but does not rewrite it when only target names change [F115]", () => {
    const added = conditionsFor(service, [], noon, all);
    expect(added).toMatchObject({ isWorthAWrite: true, isErrorChanged: false });
    expect(added.conditions).toMatchObject([
      { type: "TargetsUnhealthy", status: "True", reason: "AllTargetsUnhealthy" },
    ]);
    const present = shown(added.conditions);
    const renamed = conditionsFor(present, [], noon, problem([check("a", false), check("c", false)]));
    expect(renamed).toMatchObject({ isChanged: true, isWorthAWrite: false });
    expect(conditionsFor(present, [], noon, some)).toMatchObject({ isWorthAWrite: true });
    expect(conditionsFor(present, [], noon, [])).toMatchObject({ isWorthAWrite: true, conditions: [] });
  });

  test("the condition TargetsUnhealthy stays while the health is unknown [F115]", () => {
    const present = shown(conditionsFor(service, [], noon, all).conditions);
    expect(conditionsFor(present, [], noon)).toMatchObject({ isChanged: false, isWorthAWrite: false });
  });
});
