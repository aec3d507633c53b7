// Answers TokenReviews, SubjectAccessReviews and SelfSubject*Reviews with the given authenticate and authorize functions.

import { defined } from "../../../core/defined.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "../objects/json.ts";
import { type Identity, timestamp } from "../objects/kube-object.ts";

export interface AccessRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** For non-resource paths such as /metrics. */
  readonly path: string;
}

export type Authorize = (identity: Identity, request: AccessRequest) => boolean;
export type Authenticate = (token: string) => Identity | undefined;

function userInfo({ username, groups, uid }: Identity): JsonObject {
  return defined({ username, uid, groups: [...groups] });
}

function accessRequestIn(spec: JsonObject): AccessRequest {
  const about = objectAt(spec, "resourceAttributes");
  const path = objectAt(spec, "nonResourceAttributes");
  return {
    verb: textAt(about, "verb") || textAt(path, "verb"),
    group: textAt(about, "group"),
    resource: textAt(about, "resource"),
    subresource: textAt(about, "subresource"),
    namespace: textAt(about, "namespace"),
    name: textAt(about, "name"),
    path: textAt(path, "path"),
  };
}

function statusOf(
  plural: string,
  spec: JsonObject,
  identity: Identity,
  now: number,
  authenticate: Authenticate,
  authorize: Authorize,
): { metadata?: JsonObject; status: JsonObject } {
  switch (plural) {
    case "tokenreviews": {
      const found = authenticate(textAt(spec, "token"));
      if (found === undefined) return { status: { user: {}, error: "invalid bearer token" } };
      return { status: { authenticated: true, user: userInfo(found) } };
    }
    case "selfsubjectreviews":
      return {
        metadata: { creationTimestamp: timestamp(now) },
        status: { userInfo: userInfo(identity) },
      };
    case "subjectaccessreviews": {
      const groups = listAt(spec, "groups").filter((group) => typeof group === "string");
      return {
        status: { allowed: authorize({ username: textAt(spec, "user"), groups }, accessRequestIn(spec)) },
      };
    }
    default:
      return { status: { allowed: authorize(identity, accessRequestIn(spec)) } };
  }
}

export function answerReview(
  review: { readonly group: string; readonly plural: string; readonly kind: string },
  body: JsonObject,
  identity: Identity,
  clock: Clock,
  authenticate: Authenticate,
  authorize: Authorize,
): JsonObject {
  const spec = isObject(body["spec"]) ? body["spec"] : {};
  const answer = statusOf(review.plural, spec, identity, clock.now(), authenticate, authorize);
  return defined({
    kind: review.kind,
    apiVersion: `${review.group}/v1`,
    metadata: {},
    spec: body["spec"] === undefined ? undefined : spec,
    ...answer,
  });
}

// Bearer tokens and their identities: fixed tokens, and tokens issued for service accounts, which expire.

interface Grant {
  readonly identity: Identity;
  readonly expiresAt: number;
}

const part = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export class ServiceAccountTokens {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #grants = new Map<string, Grant>();

  constructor(clock: Clock, random: Random, fixed: Readonly<Record<string, Identity>>) {
    this.#clock = clock;
    this.#random = random;
    for (const [token, identity] of Object.entries(fixed)) {
      this.#grants.set(token, { identity, expiresAt: Number.POSITIVE_INFINITY });
    }
  }

  find(token: string): Identity | undefined {
    const grant = this.#grants.get(token);
    return grant !== undefined && grant.expiresAt > this.#clock.now() ? grant.identity : undefined;
  }

  revoke(token: string): void {
    this.#grants.delete(token);
  }

  /** The status of a TokenRequest. The token is an unsigned JWT, so that clients can read when it expires. */
  issue(namespace: string, name: string, uid: string, lifetimeSeconds: number): JsonObject {
    const now = this.#clock.now();
    const expiresAt = now + lifetimeSeconds * 1000;
    const username = `system:serviceaccount:${namespace}:${name}`;
    const claims = {
      sub: username,
      iat: Math.floor(now / 1000),
      exp: Math.floor(expiresAt / 1000),
      jti: this.#random.uuid(),
    };
    const token = `${part({ alg: "none" })}.${part(claims)}.test`;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    this.#grants.set(token, { identity: { username, groups, uid }, expiresAt });
    for (const [old, grant] of this.#grants) if (grant.expiresAt <= now) this.#grants.delete(old);
    return { token, expirationTimestamp: timestamp(expiresAt) };
  }
}
