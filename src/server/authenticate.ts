// Authenticates clients of the secure port by front proxy, client certificate and bearer token, in upstream's order. A
// request without credentials is anonymous; one with only invalid credentials is rejected.

import type { PeerCertificate, ServedRequest } from "../platform/listener.ts";
import type { Authorities } from "./authorities.ts";
import {
  anonymous,
  type CredentialCheck,
  commonNameOf,
  noCredential,
  type User,
  userInHeaders,
  userOf,
  verifyClient,
  withAuthenticatedGroup,
} from "./identity.ts";

export type Authentication =
  | { readonly kind: "user"; readonly user: User }
  | { readonly kind: "rejected"; readonly reason: string };

export interface AuthenticationDeps {
  readonly authorities: () => Promise<Authorities>;
  readonly checkToken: (headers: ServedRequest["headers"]) => Promise<CredentialCheck>;
  readonly now: () => number;
}

function checkProxy(
  peer: PeerCertificate,
  request: ServedRequest,
  { proxies, headers }: Authorities,
  now: number,
): CredentialCheck {
  if (proxies.length === 0) return noCredential;
  const verified = verifyClient(peer, proxies, now);
  if (verified.kind === "invalid") return verified;
  const name = commonNameOf(verified.certificate) ?? "";
  if (headers.allowedNames.length > 0 && !headers.allowedNames.includes(name)) {
    return { kind: "invalid", reason: `the front proxy's name ${JSON.stringify(name)} is not allowed` };
  }
  const user = userInHeaders(request.headers, headers);
  return user === undefined ? noCredential : { kind: "user", user };
}

function checkCertificate(peer: PeerCertificate, { clients }: Authorities, now: number): CredentialCheck {
  if (clients.length === 0) return noCredential;
  const verified = verifyClient(peer, clients, now);
  if (verified.kind === "invalid") return verified;
  const user = userOf(verified.certificate);
  return user === undefined
    ? { kind: "invalid", reason: "the client certificate has no common name" }
    : { kind: "user", user };
}

/** Runs the checks in order, until one of them finds a user. */
async function* checksOf(deps: AuthenticationDeps, request: ServedRequest): AsyncGenerator<CredentialCheck> {
  const { peer } = request;
  if (peer !== undefined) {
    const authorities = await deps.authorities();
    yield checkProxy(peer, request, authorities, deps.now());
    yield checkCertificate(peer, authorities, deps.now());
  }
  yield await deps.checkToken(request.headers);
}

export async function authenticate(
  deps: AuthenticationDeps,
  request: ServedRequest,
): Promise<Authentication> {
  const reasons: string[] = [];
  for await (const check of checksOf(deps, request)) {
    if (check.kind === "user") return { kind: "user", user: withAuthenticatedGroup(check.user) };
    if (check.kind === "invalid") reasons.push(check.reason);
  }
  return reasons.length === 0
    ? { kind: "user", user: anonymous }
    : { kind: "rejected", reason: reasons.join("; ") };
}
