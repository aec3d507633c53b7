// Creates a client for a real API server with the system platform. Used only by the cluster cases.

import type { KubeApi } from "../../../src/kube/client/api.ts";
import { HttpKubeApi } from "../../../src/kube/client/http-api.ts";
import { openConnection } from "../../../src/kube/connection/connection.ts";
import { RequestLimit } from "../../../src/kube/requests/request-limit.ts";
import { Requests, type RequestsOptions } from "../../../src/kube/requests/requests.ts";
import { WriteConcurrency } from "../../../src/kube/requests/write-concurrency.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { systemTransport } from "../../../src/platform/transport.ts";

export const never = new AbortController().signal;

export const connect = async (
  kubeconfig: string,
  changes: Partial<RequestsOptions> = {},
): Promise<KubeApi> => {
  const platform = { files: systemFiles, clock: systemClock };
  const requests = new Requests({
    connection: await openConnection({ kubeconfigs: [kubeconfig] }, platform, never),
    transport: systemTransport,
    clock: systemClock,
    requestLimit: new RequestLimit(),
    writes: new WriteConcurrency(systemClock),
    ...changes,
  });
  return new HttpKubeApi(requests, { userAgent: "fairlead-cluster-test" });
};
