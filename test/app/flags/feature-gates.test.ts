import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";

const reported = (value: string) =>
  readFlags([`--feature-gates=${value}`]).problems.map(({ severity, text }) => `${severity}: ${text}`);

test("a gate that matches Fairlead's behavior is accepted silently", () => {
  expect(
    reported("CloudControllerManagerWatchBasedRoutesReconciliation=true,ContextualLogging=false"),
  ).toEqual([]);
});

test("a gate without effect is accepted with an explanation", () => {
  expect(reported("WatchList=true")).toEqual([
    "warning: --feature-gates: WatchList=true has no effect: Fairlead does not have this feature",
  ]);
  expect(reported("CloudControllerManagerWatchBasedRoutesReconciliation=false")).toEqual([
    "warning: --feature-gates: CloudControllerManagerWatchBasedRoutesReconciliation=false has no effect: routes are reconciled when something changes; --route-reconciliation-period adds an interval",
  ]);
});

test("a gate that Kubernetes removed is refused with an explanation", () => {
  const [problem] = readFlags(["--feature-gates=CloudDualStackNodeIPs=true"]).problems;
  expect(problem?.text).toBe(
    "--feature-gates contains CloudDualStackNodeIPs, which Kubernetes removed because it is always on; omit it",
  );
});

test("a gate unknown upstream is refused with the nearest name, and so is a wrong value", () => {
  expect(reported("CloudControllerManagerWebhok=true")).toEqual([
    "error: --feature-gates contains CloudControllerManagerWebhok, which upstream does not have; did you mean CloudControllerManagerWebhook?",
  ]);
  expect(reported("WatchList=maybe")).toEqual([
    'error: --feature-gates: WatchList must be true or false, got "maybe"',
  ]);
});
