// Bearer tokens and their identities: fixed tokens, and tokens issued for service accounts, which expire.

import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { JsonObject } from "../objects/json.ts";
import { type Identity, timestamp } from "../objects/kube-object.ts";

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
