// The metrics of what is asked of a cloud and of what is known of it: requests, what is left of the budgets, the age of the
// listings. None of them has a name upstream.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { Clock } from "../../platform/clock.ts";
import type { LabelValues, Metrics } from "../../telemetry/metrics.ts";
import { callBuckets } from "./kube-metrics.ts";

type Accounts = readonly GovernedAccount<unknown>[];
type Level = GovernedAccount<unknown>["budget"]["level"];
type Source = Inventory["sources"][number];
type Listing = NonNullable<Source["latest"]>;
type Values = () => Iterable<readonly [LabelValues, number]>;

/** Where the cloud has told so much. */
function levels(accounts: Accounts, pick: (level: Level) => number | undefined): Values {
  return () =>
    accounts.flatMap(({ name, budget }) => {
      const value = pick(budget.level);
      return value === undefined ? [] : [[{ account: name }, value] as const];
    });
}

/** Of those that have ever been listed. */
function listings({ sources }: Pick<Inventory, "sources">, pick: (listing: Listing) => number): Values {
  return () =>
    sources.flatMap(({ source, latest }) =>
      latest === undefined ? [] : [[{ source: source.name }, pick(latest)] as const],
    );
}

export function createCloudMetrics(metrics: Metrics, clock: Clock) {
  const calls = metrics.counter(
    "fairlead_cloud_requests_total",
    "Requests to the cloud by account, operation and result.",
    ["account", "operation", "result"],
  );
  const durations = metrics.histogram(
    "fairlead_cloud_request_duration_seconds",
    "Latency of requests to the cloud.",
    callBuckets,
    ["account", "operation"],
  );
  return {
    cloudCall: ({ account, operation, status, failure, durationMs }: CloudCallReport): void => {
      calls.add({ account, operation, result: failure ?? String(status) });
      durations.observe(durationMs / 1000, { account, operation });
    },
    /** The level of every budget and the age of every listing, read when somebody looks. */
    watchCloud: (accounts: Accounts, inventory: Pick<Inventory, "sources">): void => {
      const ofAccounts = (name: string, help: string, pick: (level: Level) => number | undefined): void =>
        metrics.gaugeFrom(name, help, ["account"], levels(accounts, pick));
      const ofSources = (name: string, help: string, pick: (listing: Listing) => number): void =>
        metrics.gaugeFrom(name, help, ["source"], listings(inventory, pick));
      ofAccounts(
        "fairlead_cloud_budget_remaining",
        "Requests that the cloud says are left.",
        ({ remaining }) => remaining,
      );
      ofAccounts("fairlead_cloud_budget_limit", "Requests that the cloud allows.", ({ limit }) => limit);
      ofAccounts(
        "fairlead_cloud_requests_waiting",
        "Requests that wait for their place in the budget.",
        ({ waiting }) => waiting,
      );
      ofSources(
        "fairlead_inventory_age_seconds",
        "Age of the last complete listing of a source.",
        ({ beganAt }) => (clock.monotonic() - beganAt) / 1000,
      );
      ofSources(
        "fairlead_inventory_instances",
        "Machines in the last complete listing of a source.",
        ({ items }) => items.length,
      );
    },
  };
}
