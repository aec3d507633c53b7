// How to log in to a vCenter: with a password, or with a ticket of a service in front of it, which
// creates a new session for a user whose password only the service has.

import { type Call, type CloudTransport, jsonApi, type Secret, type Xml, xml } from "#ccm";

export interface SharedSession {
  /** The URL that issues tickets. */
  readonly url: string;
  readonly token: Secret;
}

/** Login credentials. */
export type Login = { readonly user: string; readonly password: Secret } | SharedSession;

/** The method of the SessionManager, and its parameters. */
export interface LoginMethod {
  readonly method: "Login" | "CloneSession";
  readonly content: Xml;
}

/** `unsigned` sends requests to any server. */
export async function loginMethodOf(
  login: Login,
  unsigned: CloudTransport,
  call: Call,
): Promise<LoginMethod> {
  if ("url" in login)
    return {
      method: "CloneSession",
      content: xml`<cloneTicket>${await ticketOf(login, unsigned, call)}</cloneTicket>`,
    };
  const { user, password } = login;
  return {
    method: "Login",
    content: xml`<userName>${user}</userName><password>${password.reveal()}</password>`,
  };
}

/** A ticket can be used once. */
async function ticketOf(
  { url, token }: SharedSession,
  unsigned: CloudTransport,
  call: Call,
): Promise<string> {
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
  return (await api.call<{ readonly token: string }>(request, call)).token;
}
