// A shared session: a service in front of vCenter hands out tickets, and each ticket makes a new session of a user whose password
// only the service knows.

import { type Call, type CloudTransport, jsonApi, type Secret, xml } from "#ccm";
import type { LoginMethod } from "./session.ts";

export interface SharedSession {
  /** Where tickets are handed out. */
  readonly url: string;
  readonly token: Secret;
}

/** How to log in with a new ticket, which can be used once. */
export async function cloneSession(
  { url, token }: SharedSession,
  unsigned: CloudTransport,
  call: Call,
): Promise<LoginMethod> {
  const { origin, pathname, search } = new URL(url);
  const request = {
    operation: "GET shared-session",
    method: "GET",
    path: pathname + search,
    mutates: false,
    headers: { authorization: `Bearer ${token.reveal()}` },
    expects: ["token"],
  } as const;
  const api = jsonApi({ base: origin, transport: unsigned });
  const { token: ticket } = await api.call<{ readonly token: string }>(request, call);
  return { method: "CloneSession", content: xml`<cloneTicket>${ticket}</cloneTicket>` };
}
