// Each request to the API server and to the cloud, counted always and told with `--v=4`. Neither bodies nor headers are told.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { createCloudProblems } from "./cloud-problems.ts";

const level = 4;

export function requestReporter(
  log: Log,
  metrics: Pick<ManagerMetrics, "kubeRequest" | "cloudCall">,
  problems: Pick<ReturnType<typeof createCloudProblems>, "saw">,
) {
  return {
    kube: (request: RequestObservation): void => {
      metrics.kubeRequest(request);
      const { verb, resource, object, code, duration } = request;
      log.debug(level, `API server: ${verb} ${resource}`, {
        object,
        code,
        milliseconds: Math.round(duration),
      });
    },
    cloud: (call: CloudCallReport): void => {
      metrics.cloudCall(call);
      problems.saw(call);
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
