// Traces for OpenTelemetry, off unless --tracing-endpoint is set: a span for each reconcile, each request to the cloud and each
// request to the API server. Without it, nothing is created and no work is done.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import { type Milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { withoutFullStop } from "../../core/text.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";
import { withDeadline } from "../../runtime/deadline.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Counter } from "../../telemetry/metrics.ts";
import { type Span, type SpanAttributes, Tracer, tracesJson } from "../../telemetry/tracer.ts";
import { version } from "../build-info.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { ManagerPlatform } from "../system-platform.ts";

export interface Tracing {
  readonly kube: (request: RequestObservation) => void;
  readonly cloud: (call: CloudCallReport) => void;
  /** Makes each reconcile of a key a span. */
  readonly follow: (name: string, queue: WorkQueue) => void;
  readonly task: Task;
}

export interface TracingOptions {
  readonly flags: Flags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  readonly metrics: Pick<ManagerMetrics, "traceSpans">;
  /** The name of the executable. */
  readonly name: string;
  readonly identity: string;
  readonly redact: (text: string) => string;
  /** Aborted when the manager has ended, which after a drain is later than the request to stop. */
  readonly life: AbortSignal;
}

/** `name=value,name=value`, as OpenTelemetry defines it for this variable. The values may be credentials. */
function headersOf(text = ""): Readonly<Record<string, string>> {
  const pairs = text.split(",").map((pair) => pair.split("="));
  return Object.fromEntries(
    pairs.flatMap(([name = "", ...rest]) =>
      name.trim() === "" ? [] : [[name.trim().toLowerCase(), decodeURIComponent(rest.join("=").trim())]],
    ),
  );
}

const isSuccess = (code: string): boolean => code.startsWith("2");

/** Undefined when tracing is off. */
export function openTracing(options: TracingOptions): Tracing | undefined {
  const { flags, platform, log, metrics, name, identity, redact, life } = options;
  const endpoint = flags["tracing-endpoint"];
  if (endpoint === undefined) return undefined;
  const { clock, random, environment } = platform;
  const exporter = new TraceExporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: headersOf(environment["OTEL_EXPORTER_OTLP_HEADERS"]),
    resource: {
      "service.name": name,
      "service.version": version,
      "service.instance.id": identity,
      "k8s.cluster.name": flags["cluster-name"],
    },
    transport: platform.cloudTransport,
    spans: metrics.traceSpans,
    redact,
    clock,
    log,
  });
  const ratio = flags["tracing-sampling-rate-per-million"] / 1_000_000;
  const tracer = new Tracer({ clock, random, ratio, onEnd: (span) => exporter.add(span) });
  return {
    kube: ({ verb, resource, object, code, duration }) =>
      tracer.request({
        name: `${verb} ${resource}`,
        durationMs: duration,
        attributes: { "k8s.resource": resource, "k8s.object": object, "http.response.status_code": code },
        error: isSuccess(code) ? undefined : code,
      }),
    cloud: ({ account, operation, mutates, status, message, durationMs }) =>
      tracer.request({
        name: operation,
        durationMs,
        attributes: {
          "cloud.account": account,
          "fairlead.mutates": mutates,
          "http.response.status_code": status === undefined ? undefined : String(status),
        },
        error: message,
      }),
    follow: (queueName, queue) =>
      queue.wrap((key, work) =>
        tracer.run({ name: `reconcile ${queueName}`, attributes: { "fairlead.key": key } }, work),
      ),
    task: { name: "traces", run: () => exporter.run(life) },
  };
}

// Sends finished spans to an OpenTelemetry collector in batches. A collector that is slow or down costs spans and nothing else:
// the number of waiting spans is limited, and nothing waits for them.

const interval = seconds(5);
const deadline = seconds(10);
const lastDeadline = seconds(2);
const maxWaiting = 4096;
const maxBatch = 512;

export interface TraceExporterOptions {
  /** With the path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: SpanAttributes;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
  readonly redact: (text: string) => string;
  /** By result: exported or dropped. */
  readonly spans: Counter;
}

class TraceExporter {
  readonly #options: TraceExporterOptions;
  #waiting: Span[] = [];
  #isFailing = false;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
  }

  add(span: Span): void {
    if (this.#waiting.length < maxWaiting) this.#waiting.push(span);
    else this.#options.spans.add({ result: "dropped" });
  }

  /** Sends what waits every few seconds, and once more when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, interval, signal).catch(() => undefined);
      await this.#flush(signal.aborted ? lastDeadline : deadline);
    }
  }

  async #flush(limit: Milliseconds): Promise<void> {
    const spans = this.#waiting;
    this.#waiting = [];
    for (let first = 0; first < spans.length; first += maxBatch) {
      const batch = spans.slice(first, first + maxBatch);
      const problem = await this.#send(batch, limit);
      this.#options.spans.add({ result: problem === undefined ? "exported" : "dropped" }, batch.length);
      this.#report(problem);
      if (problem === undefined) continue;
      // The next batch would fail too.
      const rest = spans.length - first - batch.length;
      if (rest > 0) this.#options.spans.add({ result: "dropped" }, rest);
      return;
    }
  }

  /** The problem, or undefined. */
  async #send(batch: readonly Span[], limit: Milliseconds): Promise<string | undefined> {
    const { url, headers, resource, transport, clock, redact } = this.#options;
    const body = redact(tracesJson(resource, batch));
    const request = {
      method: "POST",
      url,
      body,
      headers: { ...headers, "content-type": "application/json" },
    };
    try {
      // The signal to stop must not end the last batch.
      const life = new AbortController().signal;
      return await withDeadline(clock, limit, "The collector", life, async (signal) => {
        const response = await transport(request, signal);
        await response.body?.cancel();
        return response.ok ? undefined : `status ${response.status}`;
      });
    } catch (error) {
      return messageOf(error);
    }
  }

  #report(problem: string | undefined): void {
    const { log, url } = this.#options;
    if (problem !== undefined && !this.#isFailing)
      log.warn(
        `Traces cannot be sent to ${url}: ${withoutFullStop(problem)}. The spans are dropped until the collector answers; nothing else is affected. Check --tracing-endpoint.`,
      );
    if (problem === undefined && this.#isFailing) log.info(`Traces are sent to ${url} again`);
    this.#isFailing = problem !== undefined;
  }
}
