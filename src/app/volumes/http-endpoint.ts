// The HTTP endpoint of csi-controller and node-volumes: /healthz, /readyz and /metrics, without authentication, as the sidecars of
// Kubernetes have it.

import { describeError } from "../../core/error-message.ts";
import type { RpcReport } from "../../grpc/rpc-server.ts";
import type { StatusCode } from "../../grpc/status.ts";
import { listenPlain, type PlainListener } from "../../platform/listener.ts";
import type { RuntimeFigures } from "../../platform/memory.ts";
import { textAnswer } from "../../server/answers.ts";
import type { Log } from "../../telemetry/log.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { version } from "../build-info.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { addUsage } from "../metrics/process-metrics.ts";

export interface Pages {
  /** Why the process should be started again; undefined while it is well. */
  readonly unhealthy: () => Promise<string | undefined>;
  /** What it waits for; undefined once it serves volumes. */
  readonly notReady: () => string | undefined;
  readonly metrics: () => string;
}

/** Pure. `:9808` is on all addresses. */
function parseAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, brackets, plain = "", digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  return digits === "" || port > 65_535 ? undefined : { host: brackets ?? plain, port };
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8";

function checked(problem: string | undefined) {
  return problem === undefined ? textAnswer("ok") : textAnswer(`${problem}\n`, 500);
}

/** Undefined without `--http-endpoint`. */
export async function serveHttp(
  { settings }: Configuration,
  log: Log,
  { unhealthy, notReady, metrics }: Pages,
): Promise<PlainListener | undefined> {
  const endpoint = settings.flags["http-endpoint"];
  if (endpoint === undefined) return undefined;
  const address = parseAddress(endpoint);
  if (address === undefined) {
    const text = `--http-endpoint must be an address with a port, such as 127.0.0.1:9808 or :9808, got ${JSON.stringify(endpoint)}.`;
    throw new ConfigurationError([{ severity: "error", reason: "InvalidFlag", text }]);
  }
  const listener = await listenPlain({
    ...address,
    answer: (path) => {
      if (path === "/healthz") return unhealthy().then(checked);
      if (path === "/readyz") return checked(notReady());
      return path === "/metrics" ? textAnswer(metrics(), 200, metricsType) : undefined;
    },
  }).catch((error: unknown) => {
    throw new Error(`Cannot listen on ${endpoint} (--http-endpoint): ${describeError(error)}.`, {
      cause: error,
    });
  });
  log.info(`Serving /healthz, /readyz and /metrics on ${address.host}:${listener.port}`);
  return listener;
}

// The metrics of csi-controller and node-volumes: CSI calls by the names and buckets of upstream's drivers, and the process.

/** csi-lib-utils' bounds. */
const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** As Go writes the codes: `FailedPrecondition`, and `OK`. */
function goCode(code: StatusCode): string {
  if (code === "OK") return code;
  if (code === "CANCELLED") return "Canceled";
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export interface VolumeMetrics {
  readonly metrics: Metrics;
  /** Of a call that has ended. */
  readonly call: (report: RpcReport) => void;
}

export interface VolumeMetricsOptions {
  /** The name of the CSI driver. */
  readonly driver: string;
  readonly figures: RuntimeFigures;
  readonly isReady: () => boolean;
}

export function createVolumeMetrics({ driver, figures, isReady }: VolumeMetricsOptions): VolumeMetrics {
  const metrics = new Metrics();
  const calls = metrics.histogram(
    "csi_plugin_operations_seconds",
    "[ALPHA] Container Storage Interface operation duration with gRPC error code status total",
    buckets,
    ["driver_name", "method_name", "grpc_status_code"],
  );
  addUsage(metrics, figures);
  metrics.gaugeFrom(
    "fairlead_volumes_ready",
    "1 while this process serves volumes: node-volumes is registered with the kubelet, csi-controller has its socket.",
    ["version"],
    () => [[{ version }, isReady() ? 1 : 0]],
  );
  return {
    metrics,
    call: ({ method, code, milliseconds }) =>
      calls.observe(milliseconds / 1000, {
        driver_name: driver,
        method_name: method,
        grpc_status_code: goCode(code),
      }),
  };
}
