// Traces for OpenTelemetry, disabled unless an endpoint is set: a span for each reconcile and each request to the cloud
// or the API server. Without an endpoint, nothing is created and no work is done.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { Log } from "../../telemetry/log.ts";
import { Tracer } from "../../telemetry/tracer.ts";
import { version } from "../build-info.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { traceTarget } from "./otel-variables.ts";
import { TraceExporter } from "./trace-exporter.ts";

export interface Tracing {
  readonly kube: (request: RequestObservation) => void;
  readonly cloud: (call: CloudCallReport) => void;
  /** Records each reconcile of a key as a span. */
  readonly follow: (name: string, queue: WorkQueue) => void;
  /** See `Tracer.traceparent`. */
  readonly traceparent: () => string | undefined;
  readonly task: Task;
}

export interface TracingOptions {
  readonly flags: Flags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  readonly metrics: Pick<ManagerMetrics, "traceSpans">;
  /** The executable's name, as the service name of the traces. */
  readonly name: string;
  readonly identity: string;
  readonly redact: (text: string) => string;
  /** Aborted when the manager has ended. After a drain, that is later than the request to stop. */
  readonly life: AbortSignal;
}

const isSuccess = (code: string): boolean => code.startsWith("2");

/** Undefined when tracing is off. */
export function openTracing(options: TracingOptions): Tracing | undefined {
  const { flags, platform, log, metrics, name, identity, redact, life } = options;
  const { clock, random, environment } = platform;
  const { target, warnings } = traceTarget(flags["tracing-endpoint"], environment, {
    "service.name": name,
    "service.version": version,
    "service.instance.id": identity,
    "k8s.cluster.name": flags["cluster-name"],
  });
  for (const warning of warnings) log.warn(warning);
  if (target === undefined) return undefined;
  const exporter = new TraceExporter({
    target,
    transport: platform.cloudTransport,
    spans: metrics.traceSpans,
    redact,
    clock,
    log,
  });
  const ratio = flags["tracing-sampling-rate-per-million"] / 1_000_000;
  const tracer = new Tracer({ clock, random, ratio, onEnd: (span) => exporter.add(span) });
  return {
    kube: ({ verb, resource, object, code, duration, traceparent }) =>
      tracer.request({
        name: `${verb} ${resource}`,
        durationMs: duration,
        attributes: { "k8s.resource": resource, "k8s.object": object, "http.response.status_code": code },
        error: isSuccess(code) ? undefined : code,
        traceparent,
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
    traceparent: () => tracer.traceparent(),
    task: { name: "traces", run: () => exporter.run(life) },
  };
}
