// Composes the controller of serving certificates, and the watch of the requests, which its sessions share.

import { isLostRace } from "../../controllers/classify-error.ts";
import { journalledSend } from "../../controllers/kernel/journalled-send.ts";
import {
  nodesOfRequest,
  type RequestCache,
  ServingCertificateController,
  type ServingCertificateDeps,
} from "../../controllers/serving-certificates/controller.ts";
import { type RequestContent, servingSigner } from "../../controllers/serving-certificates/decide-request.ts";
import { ServingCertificateHistory } from "../../controllers/serving-certificates/history.ts";
import type { CertificateSigningRequest } from "../../kube/objects.ts";
import { certificateSigningRequests } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import { InvalidDer } from "../../pki/der-reader.ts";
import { parseSigningRequest } from "../../pki/signing-request.ts";
import type { Task } from "../../runtime/run-together.ts";
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

/** Runs as long as a Lease is held: it outlives a session that another one follows. */
class WatchOfRequests implements Task {
  readonly name = "the watch of certificate signing requests";
  readonly #context: HistoryContext;
  #opened: (RequestCache & { readonly watch: Reflector<CertificateSigningRequest> }) | undefined;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  open() {
    this.#opened ??= this.#create();
    return this.#opened;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watch } = this.open();
    const unfollow = this.#context.followCache(watch, "kubelet-serving-csr");
    await watch.run(signal).finally(unfollow);
    this.#opened = undefined;
  }

  #create() {
    const { api, clock, random, log } = this.#context;
    const watch = new Reflector({
      api,
      clock,
      random,
      resource: certificateSigningRequests,
      fieldSelector: `spec.signerName=${servingSigner}`,
      onProblem: (problem, retryIn) =>
        log.warn(problem.message, { retryInSeconds: Math.ceil(retryIn / 1000) }),
    });
    const { store } = watch;
    return { watch, store, byNode: store.index(nodesOfRequest) };
  }
}

export interface CertificatesComposer {
  /** Composes nothing unless the controller is enabled. */
  readonly compose: Composer<ServingCertificateController | undefined>;
  readonly requests: Task;
}

export function certificatesComposer(kept: HistoryContext): CertificatesComposer {
  const history = kept.controllers.has("kubelet-serving-csr")
    ? new ServingCertificateHistory(kept)
    : undefined;
  const requests = new WatchOfRequests(kept);
  return {
    compose: (context) => history && composeCertificates(context, history, () => requests.open()),
    requests,
  };
}

function composeCertificates(
  context: ControllerContext,
  history: ServingCertificateHistory,
  requests: ServingCertificateDeps["requests"],
): ServingCertificateController {
  const { api, clock, journal, settings, metrics } = context;
  const { writes: _, ...deps } = nodeDeps(context, "kubelet-serving-csr-controller");
  const options: ServingCertificateDeps = {
    ...deps,
    api,
    readRequest,
    send: journalledSend({ journal, clock, mode: settings.flags.mode }, "cluster", isLostRace),
    requests,
    onDecision: metrics.servingCertificate,
  };
  return new ServingCertificateController(options, history);
}
