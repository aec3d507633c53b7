// Records what the replicas of a simulation and all others do with Leases, Nodes and Services, as the replicas see it: the network
// delays requests and loses answers.

import type { TransportRequest } from "../../../src/platform/transport.ts";
import { readRequest } from "../../../src/testing/apiserver/http/parse-request.ts";
import type { StoredChange } from "../../../src/testing/apiserver/storage/object-store.ts";
import type { World } from "../../simulation/world.ts";
import { type Answer, answerOf, type Operation, objectOf, type Request, requestOf } from "./operations.ts";

const recorded = ["leases", "nodes", "services"];
/** Users, kubelets and other programs, whose changes take no time. */
export const others = "others";
const verbs = { ADDED: "create", MODIFIED: "update", DELETED: "delete" } as const;

/** Handles a request like `send`, or incorrectly. */
export type Serve = (
  request: TransportRequest,
  send: (request: TransportRequest) => Promise<Response>,
) => Promise<Response>;

/** A replica's request. */
interface Sent {
  readonly client: string;
  readonly request: Request;
  readonly call: number;
  return?: number;
  /** The server's answer, even if the answer is lost. */
  answered?: Answer | undefined;
  /** The change that the server stored. */
  stored?: Answer;
}

const storedBy = ({ type, object }: StoredChange): Answer =>
  type === "DELETED"
    ? { result: "done" }
    : { result: "done", version: Number(object.metadata.resourceVersion) };

/** The operation as known at the end; undefined for an operation without effect or result. */
const operationOf = ({
  client,
  request,
  call,
  return: end,
  answered,
  stored,
}: Sent): Operation | undefined => {
  const operation = { client, ...request, call };
  if (end !== undefined) return answered && { ...operation, ...answered, return: end };
  if (request.operation === "read") return undefined;
  // Only the versions decide whether the change of a Lease took effect. Many patches of Nodes require no version.
  if (request.expected !== undefined || request.operation === "create") return operation;
  return stored && { ...operation, ...stored };
};

/** Returns a function that returns the operations so far. Call it before the first request. */
export function recordOperations(
  { server, invariants }: World,
  serve: Serve = (request, send) => send(request),
): () => readonly Operation[] {
  const history: (Sent | Operation)[] = [];
  const requests = new WeakMap<TransportRequest, Sent>();
  let time = 0;
  let serving: Sent | undefined;
  /** A restored server has lower versions, so the history ends. */
  let isRestored = false;

  const { backup } = server.store;
  server.store.backup = () => {
    const restore = backup.call(server.store);
    return () => {
      isRestored = true;
      restore();
    };
  };

  const addOthers = (change: StoredChange): void => {
    const { type, storage, object, before } = change;
    time += 1;
    history.push({
      object: objectOf(storage, object.metadata),
      client: others,
      operation: verbs[type],
      ...(before && { expected: Number(before.metadata.resourceVersion) }),
      ...storedBy(change),
      call: time,
      return: time,
    });
  };
  for (const storage of recorded)
    for (const object of server.store.list(storage))
      addOthers({ type: "ADDED", storage, revision: 0, object });
  server.onWrite((change) => {
    if (isRestored || !recorded.includes(change.storage)) return;
    const object = objectOf(change.storage, change.object.metadata);
    if (serving?.request.object === object) serving.stored = storedBy(change);
    else addOthers(change);
  });

  const requestSent = invariants.requestSent.bind(invariants);
  invariants.requestSent = (replica, request, to) => {
    const onEnd = requestSent(replica, request, to);
    if (to !== "kube" || isRestored) return onEnd;
    const { verb, plural: resource, namespace, name } = readRequest(request);
    const asked = recorded.includes(resource)
      ? requestOf({ verb, resource, namespace, name }, bodyOf(request))
      : undefined;
    if (asked === undefined) return onEnd;
    time += 1;
    const sent: Sent = { client: replica.name, request: asked, call: time };
    history.push(sent);
    requests.set(request, sent);
    return (ending) => {
      onEnd(ending);
      if (isRestored || ending === "broken" || ending === "aborted") return;
      // After a server error, the change may still take effect.
      if (sent.answered !== undefined && sent.answered.result === undefined) return;
      time += 1;
      sent.return = time;
    };
  };

  const handle = server.handle.bind(server);
  server.handle = (request, identity, signal) => {
    const sent = requests.get(request);
    serving = sent;
    const answer = serve(request, (changed) => handle(changed, identity, signal));
    serving = undefined;
    if (sent === undefined) return answer;
    return answer.then(async (response) => {
      const body: unknown = await response.clone().json();
      sent.answered = answerOf(sent.request.object, response.status, body);
      return response;
    });
  };

  return () => {
    const operations = history.flatMap((one) => ("request" in one ? (operationOf(one) ?? []) : one));
    const ofReplicas = new Set(
      operations.filter(({ client }) => client !== others).map(({ object }) => object),
    );
    return operations.filter(({ object }) => ofReplicas.has(object));
  };
}

const bodyOf = ({ body }: TransportRequest): unknown =>
  typeof body === "string" && body !== "" ? JSON.parse(body) : undefined;
