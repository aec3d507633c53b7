// Composes the controller of serving certificates, with its watch of the requests.

import { isLostRace } from "../../controllers/classify-error.ts";
import {
  ServingCertificateController,
  type ServingCertificateDeps,
} from "../../controllers/serving-certificates/controller.ts";
import { type RequestContent, servingSigner } from "../../controllers/serving-certificates/decide-request.ts";
import { ServingCertificateHistory } from "../../controllers/serving-certificates/history.ts";
import { journalledSend } from "../../controllers/writes/journalled-send.ts";
import { certificateSigningRequests } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import { InvalidDer } from "../../pki/der-reader.ts";
import { parseSigningRequest } from "../../pki/signing-request.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { Composer, ControllerContext, HistoryContext } from "./controller-context.ts";

function readRequest(pem: string): RequestContent {
  try {
    return parseSigningRequest(pem);
  } catch (error) {
    if (error instanceof InvalidDer) return { malformed: error.message };
    throw error;
  }
}

/** It composes nothing unless the controller is enabled. */
export function certificatesComposer(
  kept: HistoryContext,
): Composer<ServingCertificateController | undefined> {
  const history = kept.controllers.has("kubelet-serving-csr")
    ? new ServingCertificateHistory(kept)
    : undefined;
  return (context) => history && composeCertificates(context, history);
}

function composeCertificates(
  context: ControllerContext,
  history: ServingCertificateHistory,
): ServingCertificateController {
  const { api, reader, clock, random, journal, log, settings, metrics, followCache } = context;
  const { writes: _, ...deps } = nodeDeps(context, "kubelet-serving-csr-controller");
  const options: ServingCertificateDeps = {
    ...deps,
    api,
    readRequest,
    send: journalledSend({ journal, clock, mode: settings.flags.mode }, "cluster", isLostRace),
    openRequests: () => {
      const requests = new Reflector({
        api: reader,
        clock,
        random,
        resource: certificateSigningRequests,
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
  };
  return new ServingCertificateController(options, history);
}
