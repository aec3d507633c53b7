// The operations on one Lease in the audit log of an API server, which contains the requests and answers of Leases. An interval is
// that of the API server, which is shorter than that of the client.

import { answerOf, type Operation, objectOf, requestOf } from "./operations.ts";

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly namespace?: string; readonly name?: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

/** In microseconds, from a time such as 2026-12-01T12:00:00.123456Z. */
const microseconds = (time: string): number =>
  Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(time.slice(20, 26));

export function leaseOperations(auditLog: string, namespace: string, name: string): readonly Operation[] {
  const object = objectOf("leases", { namespace, name });
  // The event of the answer replaces that of the request. If the API server was killed, there is no answer.
  const events = new Map<string, AuditEvent>();
  for (const line of auditLog.split("\n")) {
    if (!line.includes(`"${name}"`)) continue;
    const event = JSON.parse(line) as AuditEvent;
    events.set(event.auditID, event);
  }
  return [...events.values()].flatMap((event): Operation | readonly [] => {
    const { verb, objectRef, user, requestObject, responseObject, responseStatus, stage } = event;
    const request = objectRef && requestOf({ ...objectRef, verb }, requestObject);
    if (request?.object !== object) return [];
    const operation = {
      client: user.username,
      ...request,
      call: microseconds(event.requestReceivedTimestamp),
    };
    const answer =
      stage === "ResponseComplete" ? answerOf(object, responseStatus?.code ?? 500, responseObject) : {};
    if (answer === undefined) return [];
    if (answer.result !== undefined)
      return { ...operation, ...answer, return: microseconds(event.stageTimestamp) };
    return operation.operation === "read" ? [] : operation;
  });
}
