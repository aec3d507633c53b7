import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";

const reported = (value: string) =>
  readFlags([`--feature-gates=${value}`]).problems.map(({ severity, text }) => `${severity}: ${text}`);

test("a gate that matches Fairlead's behaviour is accepted silently", () => {
  expect(
    reported("CloudControllerManagerWatchBasedRoutesReconciliation=true,ContextualLogging=false"),
  ).toEqual([]);
});

test("a gate without effect is accepted with an explanation", () => {
  expect(reported("WatchList=true")).toEqual([
    "warning: --feature-gates: WatchList=true has no effect: it is about something that this manager does not have",
  ]);
  expect(reported("CloudControllerManagerWatchBasedRoutesReconciliation=false")).toEqual([
    "warning: --feature-gates: CloudControllerManagerWatchBasedRoutesReconciliation=false has no effect: routes are looked at when something changes; --route-reconciliation-period makes it regular",
  ]);
});

test("a gate that Kubernetes removed is refused with an explanation", () => {
  const [problem] = readFlags(["--feature-gates=CloudDualStackNodeIPs=true"]).problems;
  expect(problem?.text).toBe(
    "--feature-gates names CloudDualStackNodeIPs, which Kubernetes took out: it is always so; leave it out",
  );
});

test("a gate unknown upstream is refused with the nearest name, and so is a wrong value", () => {
  expect(reported("CloudControllerManagerWebhok=true")).toEqual([
    "error: --feature-gates names CloudControllerManagerWebhok, which upstream does not have; did you mean CloudControllerManagerWebhook?",
  ]);
  expect(reported("WatchList=maybe")).toEqual([
    'error: --feature-gates: WatchList must be true or false, got "maybe"',
  ]);
});
