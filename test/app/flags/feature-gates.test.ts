import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";

const reported = (value: string, ...flags: readonly string[]) =>
  readFlags([`--feature-gates=${value}`, ...flags]).problems.map(
    ({ severity, text }) => `${severity}: ${text}`,
  );

const notKnown = "no cloud-controller-manager of Kubernetes 1.35 to 1.38 has it";

test("accepts a gate that matches Fairlead's behavior without a warning", () => {
  expect(
    reported("CloudControllerManagerWatchBasedRoutesReconciliation=true,ContextualLogging=false"),
  ).toEqual([]);
});

test("accepts a gate that has no effect, and explains why", () => {
  expect(reported("WatchList=true")).toEqual([
    "warning: --feature-gates: WatchList=true has no effect: Fairlead does not have this feature",
  ]);
  expect(reported("CloudControllerManagerWatchBasedRoutesReconciliation=false")).toEqual([
    "warning: --feature-gates: CloudControllerManagerWatchBasedRoutesReconciliation=false has no effect: routes are reconciled when something changes; --route-reconciliation-period adds an interval",
  ]);
});

test.each(["ComponentFlagz", "ComponentStatusz"])(
  "accepts %s=true without a warning, because Fairlead serves the page",
  (gate) => {
    const page = gate === "ComponentFlagz" ? "/flagz" : "/statusz";
    expect(reported(`${gate}=true`)).toEqual([]);
    expect(reported(`${gate}=false`)).toEqual([
      `warning: --feature-gates: ${gate}=false has no effect: ${page} is always served on the secure port`,
    ]);
  },
);

test.each(["CloudDualStackNodeIPs", "StableLoadBalancerNodeSet", "APIPriorityAndFairness", "KMSv2"])(
  "the warning about %s, which Kubernetes removed before 1.35, recommends omitting it",
  (gate) => {
    const meant = gate === "KMSv2" ? "did you mean KMSv1? If not, " : "";
    expect(reported(`${gate}=true`)).toEqual([
      `warning: --feature-gates contains the unknown gate ${gate}, which has no effect; ${meant}omit it: ${notKnown}`,
    ]);
  },
);

test("reports an unknown gate with the nearest name, and rejects an invalid value", () => {
  expect(reported("CloudControllerManagerWebhok=true")).toEqual([
    `warning: --feature-gates contains the unknown gate CloudControllerManagerWebhok, which has no effect; did you mean CloudControllerManagerWebhook? If not, omit it: ${notKnown}`,
  ]);
  expect(reported("Zzz=maybe")).toEqual(['error: --feature-gates: Zzz must be true or false, got "maybe"']);
  expect(reported("WatchList")).toEqual([
    'error: --feature-gates must be a comma-separated list such as key=value,other=value, got "WatchList"',
  ]);
});

test("an unknown gate prevents the start with --strict-feature-gates, which the upstream profile sets", () => {
  const refusal = `error: --feature-gates contains the unknown gate Zzz; omit it: ${notKnown}`;
  expect(reported("Zzz=true", "--strict-feature-gates")).toEqual([refusal]);
  expect(reported("Zzz=true", "--compatibility=upstream")).toEqual([refusal]);
  expect(reported("Zzz=true", "--compatibility=upstream", "--strict-feature-gates=false")).toEqual([
    `warning: --feature-gates contains the unknown gate Zzz, which has no effect; omit it: ${notKnown}`,
  ]);
});
