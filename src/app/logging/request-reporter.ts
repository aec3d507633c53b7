// Counts, traces and logs (at --v=4) every request to the API server and the cloud, without bodies and headers.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { CloudProblems } from "./connection-problems.ts";

const level = 4;

export interface RequestReporter {
  readonly kube: (request: RequestObservation) => void;
  readonly cloud: (call: CloudCallReport) => void;
}

export function requestReporter(
  log: Log,
  metrics: Pick<ManagerMetrics, "kube" | "cloudCall">,
  problems: Pick<CloudProblems, "record">,
  traces: RequestReporter | undefined,
): RequestReporter {
  return {
    kube: (request) => {
      metrics.kube.request(request);
      traces?.kube(request);
      const { verb, resource, object, code, duration } = request;
      log.debug(level, `API server: ${verb} ${resource}`, {
        object,
        code,
        milliseconds: Math.round(duration),
      });
    },
    cloud: (call) => {
      metrics.cloudCall(call);
      traces?.cloud(call);
      problems.record(call);
      const { account, operation, status, failure, durationMs } = call;
      log.debug(level, `Cloud: ${operation}`, {
        account,
        status,
        failure,
        milliseconds: Math.round(durationMs),
      });
    },
  };
}
