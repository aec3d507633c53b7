// Metrics of requests to the API server, by client-go's names and buckets, and of dropped events.

import type { EventLoss } from "../../kube/events/event-recorder.ts";
import { methodOf, type RequestObservation } from "../../kube/requests/request.ts";
import type { Counter, Histogram, Metrics } from "../../telemetry/metrics.ts";

/** client-go's bounds, for requests to the API server and to clouds alike. */
export const callBuckets: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

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
      callBuckets,
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
    // The duration of a watch is not a latency.
    if (verb !== "watch") this.#durations.observe(duration / 1000, { verb: method, host });
  }

  lostEvent(reason: EventLoss): void {
    this.#lostEvents.add({ reason });
  }
}
