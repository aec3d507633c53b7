// The metrics of csi-controller and node-volumes: CSI calls with the names and buckets of upstream's drivers, and process
// metrics.

import type { RuntimeFigures } from "../../platform/memory.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import type { RpcReport } from "../../volumes/grpc/rpc-server.ts";
import type { StatusCode } from "../../volumes/grpc/status.ts";
import { version } from "../build-info.ts";
import { addUsage } from "../metrics/process-metrics.ts";

/** csi-lib-utils' bounds. */
const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** Formats codes as Go does: `FailedPrecondition`, and `OK`. */
function goCode(code: StatusCode): string {
  if (code === "OK") return code;
  if (code === "CANCELLED") return "Canceled";
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export interface CsiMetrics {
  readonly metrics: Metrics;
  /** Records a completed call. */
  readonly call: (report: RpcReport) => void;
}

export interface CsiMetricsOptions {
  /** The name of the CSI driver. */
  readonly driver: string;
  readonly figures: RuntimeFigures;
  readonly isReady: () => boolean;
}

export function createCsiMetrics({ driver, figures, isReady }: CsiMetricsOptions): CsiMetrics {
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
