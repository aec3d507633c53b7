// Metrics of the cloud: requests, rate-limit budgets, and the age of listings. Upstream has none of them.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { Clock } from "../../platform/clock.ts";
import type { LabelValues, Metrics } from "../../telemetry/metrics.ts";
import { callBuckets } from "./kube-metrics.ts";

/** A reload replaces the accounts. */
interface Accounts {
  readonly accounts: readonly GovernedAccount<unknown>[];
}
type Level = GovernedAccount<unknown>["budget"]["level"];
type Source = Inventory["sources"][number];
type Listing = NonNullable<Source["latest"]>;
type Values = () => Iterable<readonly [LabelValues, number]>;

/** Only for accounts whose cloud reports the value. */
function levels(cloud: Accounts, pick: (level: Level) => number | undefined): Values {
  return () =>
    cloud.accounts.flatMap(({ name, budget }) => {
      const value = pick(budget.level);
      return value === undefined ? [] : [[{ account: name }, value] as const];
    });
}

/** Only for sources that were listed at least once. */
function listings({ sources }: Pick<Inventory, "sources">, pick: (listing: Listing) => number): Values {
  return () =>
    sources.flatMap(({ source, latest }) =>
      latest === undefined ? [] : [[{ source: source.name }, pick(latest)] as const],
    );
}

export interface CloudMetrics {
  cloudCall(call: CloudCallReport): void;
  /** Adds gauges for the level of each budget and the age of each listing, computed on each scrape. */
  watchCloud(cloud: Accounts, inventory: Pick<Inventory, "sources">): void;
}

export function createCloudMetrics(metrics: Metrics, clock: Clock): CloudMetrics {
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
    cloudCall: ({ account, operation, status, failure, durationMs }) => {
      calls.add({ account, operation, result: failure ?? String(status) });
      durations.observe(durationMs / 1000, { account, operation });
    },
    watchCloud: (cloud, inventory) => {
      const ofAccounts = (name: string, help: string, pick: (level: Level) => number | undefined): void =>
        metrics.gaugeFrom(name, help, ["account"], levels(cloud, pick));
      const ofSources = (name: string, help: string, pick: (listing: Listing) => number): void =>
        metrics.gaugeFrom(name, help, ["source"], listings(inventory, pick));
      ofAccounts(
        "fairlead_cloud_budget_remaining",
        "Remaining requests, as reported by the cloud.",
        ({ remaining }) => remaining,
      );
      ofAccounts(
        "fairlead_cloud_budget_limit",
        "Request limit, as reported by the cloud.",
        ({ limit }) => limit,
      );
      ofAccounts(
        "fairlead_cloud_requests_waiting",
        "Requests that wait for the budget.",
        ({ waiting }) => waiting,
      );
      ofSources(
        "fairlead_inventory_age_seconds",
        "Age of the last complete listing of a source.",
        ({ beganAt }) => (clock.monotonic() - beganAt) / 1000,
      );
      ofSources(
        "fairlead_inventory_instances",
        "Instances in the last complete listing of a source.",
        ({ items }) => items.length,
      );
    },
  };
}
