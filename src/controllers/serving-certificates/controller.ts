// The controller of kubelet serving certificates: approves requests whose names and addresses the inventory proves, denies
// invalid requests, and leaves all others pending with a reason. Off by default.

import { type Answer, intervalOf } from "../../cloud/inventory/instances.ts";
import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { type CertificateSigningRequest, type Node, toTime } from "../../kube/objects.ts";
import { certificateSigningRequests } from "../../kube/resources.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import { problemOfError } from "../classify-error.ts";
import { Reporter } from "../kernel/board.ts";
import type { JournalledSend } from "../kernel/journalled-send.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, providerIDOf } from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import { PendingLookups } from "../pending-lookups.ts";
import type { ServingCertificateHistory } from "./history.ts";
import {
  decideNames,
  isPending,
  nodeOfRequest,
  type RequestContent,
  type RequestDecision,
  type WellFormed,
  wrongRequest,
} from "./plan.ts";

export interface ServingCertificateDeps extends Omit<NodeDeps, "writes"> {
  readonly api: Pick<KubeApi, "patch">;
  readonly send: JournalledSend;
  /** Reads the PEM of a request. */
  readonly readRequest: (pem: string) => RequestContent;
  readonly onDecision: (kind: "approved" | "denied") => void;
}

/**
 * An instance that was observed this recently proves an address, however long the request has been pending, because addresses
 * move. Proof of its absence requires an answer that is newer than the request. The requests of one Node cause at most one
 * query in this time.
 */
const maxObservationAge: Milliseconds = minutes(1);

/** The time during which queries are collected into one turn. */
const turnLength: Milliseconds = milliseconds(100);

const whatNow =
  "Fairlead denied it; the kubelet requests another one later. If a name or an address is missing in the cloud, add it there.";

const whatNext = (node: string): string =>
  `The request waits. \`kubectl fairlead explain node ${node}\` names them.`;

interface SeenRequest {
  readonly uid: string;
  /** When this session first saw the request (monotonic). */
  readonly at: number;
  readonly content: RequestContent;
}

/** The controller, composed again for each leadership session. */
export class ServingCertificateController implements Reconciler {
  readonly queue: WorkQueue;
  readonly #deps: ServingCertificateDeps;
  readonly #history: ServingCertificateHistory;
  readonly #reporter: Reporter<CertificateSigningRequest, "waiting">;
  readonly #lookups: PendingLookups;
  readonly #seen = new Map<string, SeenRequest>();
  /** When the next query for each Node may be sent (monotonic). */
  readonly #nextQuery = new Map<string, number>();
  /** Queries are sent in turns, so that queries for several Nodes share a listing. Times are monotonic. */
  #turn = { ends: 0, next: 0 };

  constructor(deps: ServingCertificateDeps, history: ServingCertificateHistory) {
    this.#deps = deps;
    this.#history = history;
    this.#reporter = new Reporter<CertificateSigningRequest, "waiting">(
      (request, problem) => this.#report(request, problem),
      history.board,
    );
    this.queue = new WorkQueue(deps.clock);
    this.#lookups = new PendingLookups(deps.inventory, deps.clock);
  }

  /** Called at most once. */
  run(signal: AbortSignal): Promise<void> {
    return runController(this, this.#deps, signal);
  }

  *begin(): Subscriptions {
    const { nodes, inventory } = this.#deps;
    const { requests, requestsOf, board } = this.#history;
    const names = requests.list().map(({ metadata }) => metadata.name);
    // Requests may have been deleted while another replica was the leader.
    board.forgetAllBut(new Set(names));
    for (const name of names) this.queue.add(name);
    yield requests.subscribe(({ key }) => this.queue.add(key));
    yield nodes.subscribe(({ key, before, after }) => {
      if (after === undefined) this.#nextQuery.delete(key);
      // The deleted Node may have been the second Node of a machine.
      const other = before && after === undefined ? this.#history.sharing(before) : undefined;
      for (const node of other === undefined ? [key] : [key, other])
        this.#enqueue(requestsOf.get(node).map(({ metadata }) => metadata.name));
    });
    yield inventory.subscribe(() => this.#enqueue(this.#seen.keys()));
  }

  #enqueue(names: Iterable<string>): void {
    for (const name of names) if (this.#seen.has(name)) this.queue.add(name);
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const request = this.#history.requests.get(name);
    if (request === undefined || !isPending(request)) {
      this.#forget(name);
      this.#lookups.forget(name);
      return settled;
    }
    const seen = this.#see(request);
    const { content } = seen;
    const node = this.#deps.nodes.get(nodeOfRequest(request) ?? "");
    const wrong = wrongRequest(request, content);
    const decision =
      wrong !== undefined || "malformed" in content
        ? ({ kind: "deny", message: wrong ?? "The request is malformed." } as const)
        : this.#decide(request, { ...seen, content }, node);
    if (decision.kind === "query") return this.#query(name, decision.node);
    this.#lookups.forget(name);
    if (decision.kind === "wait") this.#reportWait(request, decision.message);
    else await this.#answer(request, decision, signal);
    return settled;
  }

  #forget(name: string): void {
    this.#seen.delete(name);
    this.#history.board.forget(name);
  }

  /** Parses a pending request. A request never changes, so it is parsed once. */
  #see({ metadata: { name, uid }, spec }: CertificateSigningRequest): SeenRequest {
    const known = this.#seen.get(name);
    if (known?.uid === uid) return known;
    const content = this.#deps.readRequest(Buffer.from(spec.request, "base64").toString("latin1"));
    const seen = { uid, at: this.#deps.clock.monotonic(), content };
    this.#seen.set(name, seen);
    return seen;
  }

  #decide(
    request: CertificateSigningRequest,
    { at: seenAt, content }: Pick<SeenRequest, "at"> & { readonly content: WellFormed },
    node: Node | undefined,
  ): RequestDecision | { readonly kind: "query"; readonly node: Node } {
    const { inventory, isSelected, clock } = this.#deps;
    const wait = (message: string): RequestDecision => ({ kind: "wait", message });
    if (node === undefined)
      return wait(
        `The Node ${shortList([nodeOfRequest(request) ?? ""])} does not exist yet. The request is checked again when it registers.`,
      );
    const { name } = node.metadata;
    const identity = identityOf(node);
    if (!isSelected(node) || !inventory.manages(identity))
      return wait(
        `The Node ${name} is of another cloud, or --node-selector does not match it. Another approver, or kubectl certificate approve, must decide.`,
      );
    if (isPaused(node)) return wait(`The Node ${name} is paused.`);
    if (providerIDOf(node) === undefined)
      return wait(
        `The Node ${name} has no provider ID yet. The request is checked again when it is initialized.`,
      );
    const answer = inventory.check(identity);
    const decision = this.#decisionFrom(answer, content, node);
    const key = request.metadata.name;
    if (decision !== undefined && "asOf" in answer) {
      const { asOf } = answer;
      const oldest = clock.monotonic() - maxObservationAge;
      // A listing may take longer than this. The listing that this request triggered is always recent enough.
      const isRecent = asOf >= oldest || this.#lookups.isAnsweredBy(key, asOf);
      if ((isRecent || decision.kind === "wait") && (asOf >= seenAt || decision.kind === "approve"))
        return decision;
    }
    return { kind: "query", node };
  }

  /** A kubelet may send any number of requests, so queries are limited per Node and for all Nodes together. */
  #query(key: string, node: Node): Outcome {
    const { inventory, clock } = this.#deps;
    const { name } = node.metadata;
    const identity = identityOf(node);
    if (!this.#lookups.has(key)) {
      const now = clock.monotonic();
      const isTurn = now < this.#turn.ends;
      const at = Math.max(this.#nextQuery.get(name) ?? 0, isTurn ? 0 : this.#turn.next);
      if (at > now) return requeue(milliseconds(at - now), "the pace of queries");
      this.#nextQuery.set(name, now + maxObservationAge);
      const interval = intervalOf(inventory.costOf(identity, this.#seen.size), "soon");
      if (!isTurn) this.#turn = { ends: now + turnLength, next: now + interval };
    }
    this.#lookups.ask(key, identity, { urgency: "new-node" });
    return waiting;
  }

  /** Undefined if the inventory has no answer. */
  #decisionFrom(answer: Answer, content: WellFormed, node: Node): RequestDecision | undefined {
    const { name } = node.metadata;
    switch (answer.kind) {
      case "exists":
        if (this.#isSelfReported(answer.source))
          return {
            kind: "wait",
            message: `The machine of the Node ${name} reports its own addresses to the cloud, so the cloud cannot prove them. Check the names and addresses of the request, and run kubectl certificate approve.`,
          };
        return decideNames(content, {
          node,
          instance: answer.instance,
          sharedWith: this.#history.sharing(node),
        });
      case "gone":
        return { kind: "wait", message: `The cloud has no instance for the Node ${name}.` };
      case "ambiguous":
        return { kind: "wait", message: `Several instances match Node ${name}. ${whatNext(name)}` };
      case "unconfirmed":
        return {
          kind: "wait",
          message: `One instance matches Node ${name}, but a source that could have a second match has not answered. ${whatNext(name)}`,
        };
      case "foreign":
      case "unknown":
        return undefined;
    }
  }

  #isSelfReported(name: string): boolean {
    return this.#deps.inventory.sources.some(({ source }) => source.name === name && source.selfReported);
  }

  async #answer(
    request: CertificateSigningRequest,
    { kind, message }: Exclude<RequestDecision, { readonly kind: "wait" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, send, clock, onDecision } = this.#deps;
    const { name, uid, resourceVersion } = request.metadata;
    const isApproved = kind === "approve";
    const reason = isApproved ? "ServingCertificateApproved" : "ServingCertificateDenied";
    const text = isApproved ? message : `${message} ${whatNow}`;
    const condition = {
      type: isApproved ? "Approved" : "Denied",
      status: "True",
      reason,
      message: text,
      lastUpdateTime: toTime(clock.now()),
    };
    // The API server rejects the patch if the request was changed or replaced.
    const body = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } };
    const patch = { contentType: "application/merge-patch+json", body, subresource: "approval" } as const;
    const change = { action: kind, object: `csr/${name}`, why: message };
    const sent = await send([change], () => api.patch(certificateSigningRequests, { name }, patch, signal));
    this.#forget(name);
    if (sent === "observed") return;
    onDecision(isApproved ? "approved" : "denied");
    this.#report(request, { severity: isApproved ? "notice" : "error", reason, text });
  }

  #reportWait(request: CertificateSigningRequest, why: string): void {
    const text = `${why} The kubelet has no serving certificate of the cluster until the request is approved.`;
    this.#reporter.report(request, "waiting", [
      { severity: "hold", reason: "ServingCertificateWaiting", text },
    ]);
  }

  #report(request: CertificateSigningRequest, problem: Problem): void {
    const node = this.#deps.nodes.get(nodeOfRequest(request) ?? "");
    const text = `Certificate signing request ${request.metadata.name}: ${problem.text}`;
    if (node !== undefined) this.#deps.report(node, { ...problem, text });
    else this.#deps.note(text, { reason: problem.reason });
  }

  onError(name: string, error: unknown): undefined {
    const request = this.#history.requests.get(name);
    const problem = problemOfError(error);
    if (request !== undefined && problem !== undefined) {
      this.#reportWait(request, `It cannot be decided now: ${messageIn(problem)}`);
    }
  }
}
