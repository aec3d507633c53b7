// Composes the controller of kubelet serving certificates.

import { isLostRace } from "../../controllers/classify-error.ts";
import { ServingCertificateController } from "../../controllers/serving-certificates/controller.ts";
import { type RequestContent, servingSigner } from "../../controllers/serving-certificates/decide-request.ts";
import { journalledSend } from "../../controllers/writes/journalled-send.ts";
import { certificateSigningRequests } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import { InvalidDer } from "../../pki/der-reader.ts";
import { parseSigningRequest } from "../../pki/signing-request.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";

function readRequest(pem: string): RequestContent {
  try {
    return parseSigningRequest(pem);
  } catch (error) {
    if (error instanceof InvalidDer) return { malformed: error.message };
    throw error;
  }
}

export function composeCertificates(context: ControllerContext): ServingCertificateController {
  const { api, reader, clock, random, journal, log, settings, metrics, followCache } = context;
  const { writes: _, ...deps } = nodeDeps(context, "kubelet-serving-csr-controller");
  return new ServingCertificateController({
    ...deps,
    api,
    readRequest,
    send: journalledSend({ journal, clock, mode: settings.flags.mode }, "cluster", isLostRace),
    openRequests: () => {
      const requests = new Reflector({
        ...{ api: reader, clock, random, resource: certificateSigningRequests },
        fieldSelector: `spec.signerName=${servingSigner}`,
        onProblem: (problem, retryIn) =>
          log.warn(problem.message, { retryInSeconds: Math.ceil(retryIn / 1000) }),
      });
      const run = async (signal: AbortSignal): Promise<void> => {
        const unfollow = followCache(requests, "kubelet-serving-csr");
        await requests.run(signal).finally(unfollow);
      };
      return { store: requests.store, run };
    },
    onDecision: metrics.servingCertificate,
  });
}
