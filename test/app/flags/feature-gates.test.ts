import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";

const reported = (value: string, ...flags: readonly string[]) =>
  readFlags([`--feature-gates=${value}`, ...flags]).problems.map(
    ({ severity, text }) => `${severity}: ${text}`,
  );

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

test("reports an unknown gate with the nearest name, and rejects an invalid value", () => {
  expect(reported("CloudControllerManagerWebhok=true")).toEqual([
    "warning: --feature-gates contains the unknown gate CloudControllerManagerWebhok, which has no effect; did you mean CloudControllerManagerWebhook?",
  ]);
  expect(reported("Zzz=maybe")).toEqual(['error: --feature-gates: Zzz must be true or false, got "maybe"']);
  expect(reported("WatchList")).toEqual([
    'error: --feature-gates must be a comma-separated list such as key=value,other=value, got "WatchList"',
  ]);
});

test("an unknown gate stops the start with --strict-feature-gates, which the upstream profile sets", () => {
  const refusal = "error: --feature-gates contains the unknown gate Zzz; omit it";
  expect(reported("Zzz=true", "--strict-feature-gates")).toEqual([refusal]);
  expect(reported("Zzz=true", "--compatibility=upstream")).toEqual([refusal]);
  expect(reported("Zzz=true", "--compatibility=upstream", "--strict-feature-gates=false")).toEqual([
    "warning: --feature-gates contains the unknown gate Zzz, which has no effect; omit it",
  ]);
});
