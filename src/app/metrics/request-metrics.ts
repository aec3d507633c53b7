// Metrics of requests: to the API server by client-go's names and buckets, and to the cloud.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { EventLoss } from "../../kube/events/event-recorder.ts";
import { methodOf, type RequestObservation } from "../../kube/requests/request.ts";
import type { Counter, Histogram, Metrics } from "../../telemetry/metrics.ts";

/** client-go's bounds, used for requests to the API server and to clouds. */
const buckets: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export class KubeMetrics {
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #lostEvents: Counter;
  #host = "";

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter(
      "rest_client_requests_total",
      "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
      ["code", "method", "host", "resource"],
    );
    this.#durations = metrics.histogram(
      "rest_client_request_duration_seconds",
      "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
      buckets,
      ["verb", "host"],
    );
    this.#lostEvents = metrics.counter(
      "fairlead_events_lost_total",
      "Kubernetes events that were not written, by reason.",
      ["reason"],
    );
  }

  /** Sets the host label. */
  serverIs(origin: string): void {
    this.#host = new URL(origin).host;
  }

  request({ verb, resource, code, duration }: RequestObservation): void {
    const method = methodOf[verb];
    const host = this.#host;
    this.#requests.add({ code, method, host, resource });
    // The duration of a watch is not latency, so it is not observed.
    if (verb !== "watch") this.#durations.observe(duration / 1000, { verb: method, host });
  }

  lostEvent(reason: EventLoss): void {
    this.#lostEvents.add({ reason });
  }
}

/** Returns a function that records a request to the cloud. Upstream has no such metrics. */
export function createCloudMetrics(metrics: Metrics): (call: CloudCallReport) => void {
  const calls = metrics.counter(
    "fairlead_cloud_requests_total",
    "Requests to the cloud by account, operation and result.",
    ["account", "operation", "result"],
  );
  const durations = metrics.histogram(
    "fairlead_cloud_request_duration_seconds",
    "Latency of requests to the cloud.",
    buckets,
    ["account", "operation"],
  );
  return ({ account, operation, status, failure, durationMs }) => {
    calls.add({ account, operation, result: failure ?? String(status) });
    durations.observe(durationMs / 1000, { account, operation });
  };
}
