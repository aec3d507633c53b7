// Tokens and whom they belong to: those given at the start, and those handed out for service accounts, which end. It is not a signer of real tokens.

import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { JsonObject } from "../objects/json.ts";
import { type Identity, timestamp } from "../objects/kube-object.ts";

interface Grant {
  readonly identity: Identity;
  readonly endsAt: number;
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
      this.#grants.set(token, { identity, endsAt: Number.POSITIVE_INFINITY });
    }
  }

  find(token: string): Identity | undefined {
    const grant = this.#grants.get(token);
    return grant !== undefined && grant.endsAt > this.#clock.now() ? grant.identity : undefined;
  }

  revoke(token: string): void {
    this.#grants.delete(token);
  }

  /** The status of a TokenRequest. It looks like a JWT, so that clients can read when it ends; it is not signed. */
  issue(namespace: string, name: string, uid: string, lifetimeSeconds: number): JsonObject {
    const now = this.#clock.now();
    const endsAt = now + lifetimeSeconds * 1000;
    const username = `system:serviceaccount:${namespace}:${name}`;
    const claims = {
      sub: username,
      iat: Math.floor(now / 1000),
      exp: Math.floor(endsAt / 1000),
      jti: this.#random.uuid(),
    };
    const token = `${part({ alg: "none" })}.${part(claims)}.sandbox`;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    this.#grants.set(token, { identity: { username, groups, uid }, endsAt });
    for (const [old, grant] of this.#grants) if (grant.endsAt <= now) this.#grants.delete(old);
    return { token, expirationTimestamp: timestamp(endsAt) };
  }
}
