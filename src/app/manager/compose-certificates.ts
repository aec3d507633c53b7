// Composes the controller for serving certificates, and the watch of signing requests.

import { isLostRace } from "../../controllers/classify-error.ts";
import { journalledSend } from "../../controllers/kernel/journalled-send.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import {
  ServingCertificateController,
  type ServingCertificateDeps,
} from "../../controllers/serving-certificates/controller.ts";
import { ServingCertificateHistory } from "../../controllers/serving-certificates/history.ts";
import { type RequestContent, servingSigner } from "../../controllers/serving-certificates/plan.ts";
import type { CertificateSigningRequest } from "../../kube/objects.ts";
import { certificateSigningRequests } from "../../kube/resources.ts";
import { InvalidDer } from "../../pki/der-reader.ts";
import { parseSigningRequest } from "../../pki/signing-request.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { Composer, ControllerContext, HistoryContext } from "./controller-context.ts";
import { type WatchDeps, WatchedResource } from "./watched-resource.ts";

function readRequest(pem: string): RequestContent {
  try {
    return parseSigningRequest(pem);
  } catch (error) {
    if (error instanceof InvalidDer) return { malformed: error.message };
    throw error;
  }
}

export function watchRequests(deps: WatchDeps): WatchedResource<CertificateSigningRequest> {
  return new WatchedResource(certificateSigningRequests, deps, `spec.signerName=${servingSigner}`);
}

/** Composes nothing unless the controller runs here. */
export function certificatesComposer(
  kept: HistoryContext,
  requests: LatestObjects<CertificateSigningRequest> | undefined,
): Composer<ServingCertificateController | undefined> {
  const history = requests && new ServingCertificateHistory(kept, requests);
  return (context) => history && composeCertificates(context, history);
}

function composeCertificates(
  context: ControllerContext,
  history: ServingCertificateHistory,
): ServingCertificateController {
  const { api, clock, journal, settings, metrics } = context;
  const { writes: _, ...deps } = nodeDeps(context, "kubelet-serving-csr-controller");
  const options: ServingCertificateDeps = {
    ...deps,
    api,
    readRequest,
    send: journalledSend({ journal, clock, mode: settings.flags.mode }, "cluster", isLostRace),
    onDecision: metrics.servingCertificate,
  };
  return new ServingCertificateController(options, history);
}
