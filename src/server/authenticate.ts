// Who asks: a front proxy's word, a client certificate, a bearer token, in upstream's order. Nothing shown is anonymous;
// something shown that proves nothing is refused and never becomes anonymous.

import type { PeerCertificate, ServedRequest } from "../platform/listener.ts";
import type { Authorities } from "./authorities.ts";
import { commonNameOf, userOf, verifyClient } from "./client-certificate.ts";
import { userInHeaders } from "./request-header.ts";
import { anonymous, type Claim, noClaim, type User, withAuthenticatedGroup } from "./user.ts";

export type Asker =
  | { readonly kind: "user"; readonly user: User }
  | { readonly kind: "refused"; readonly why: string };

export interface AuthenticateOptions {
  readonly authorities: () => Promise<Authorities>;
  /** Undefined where nobody can review tokens. */
  readonly token: ((headers: ServedRequest["headers"]) => Promise<Claim>) | undefined;
  readonly now: () => number;
}

function byProxy(
  peer: PeerCertificate,
  request: ServedRequest,
  { proxies, headers }: Authorities,
  now: number,
): Claim {
  if (proxies.length === 0) return noClaim;
  const verified = verifyClient(peer, proxies, now);
  if (verified.kind === "refused") return { kind: "bad", why: verified.why };
  const name = commonNameOf(verified.certificate) ?? "";
  if (headers.allowedNames.length > 0 && !headers.allowedNames.includes(name)) {
    return { kind: "bad", why: `the front proxy ${JSON.stringify(name)} is not among those allowed` };
  }
  const user = userInHeaders(request.headers, headers);
  return user === undefined ? noClaim : { kind: "user", user };
}

function byCertificate(peer: PeerCertificate, { clients }: Authorities, now: number): Claim {
  if (clients.length === 0) return noClaim;
  const verified = verifyClient(peer, clients, now);
  if (verified.kind === "refused") return { kind: "bad", why: verified.why };
  const user = userOf(verified.certificate);
  return user === undefined
    ? { kind: "bad", why: "the client certificate names no user" }
    : { kind: "user", user };
}

export function createAuthenticate({ authorities, token, now }: AuthenticateOptions) {
  const claimsOf = async function* (request: ServedRequest): AsyncGenerator<Claim> {
    const { peer } = request;
    if (peer !== undefined) {
      const known = await authorities();
      yield byProxy(peer, request, known, now());
      yield byCertificate(peer, known, now());
    }
    if (token !== undefined) yield await token(request.headers);
  };
  return async (request: ServedRequest): Promise<Asker> => {
    const wrong: string[] = [];
    for await (const claim of claimsOf(request)) {
      if (claim.kind === "user") return { kind: "user", user: withAuthenticatedGroup(claim.user) };
      if (claim.kind === "bad") wrong.push(claim.why);
    }
    return wrong.length === 0
      ? { kind: "user", user: anonymous }
      : { kind: "refused", why: wrong.join("; ") };
  };
}
