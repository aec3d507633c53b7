// The bearer tokens of a simulated cloud.

import { Refused } from "./refused.ts";

/** What a token permits. */
export type Permission = "read" | "read-write";

/** The tokens of a simulated account. */
export class Tokens {
  readonly #byToken = new Map<string, Permission>();
  #isStrict = false;

  /** Until a token is added or revoked, every token is valid. */
  add(token: string, permission: Permission = "read-write"): void {
    this.#byToken.set(token, permission);
  }

  revoke(token: string): void {
    this.#byToken.delete(token);
    this.#isStrict = true;
  }

  /** Throws unless the request is allowed: 401 for an unknown token, 403 for a change with a token for reading. */
  check(authorization: string | undefined, method: string): void {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1];
    const isOpen = this.#byToken.size === 0 && !this.#isStrict;
    const permission = token === undefined ? undefined : isOpen ? "read-write" : this.#byToken.get(token);
    if (permission === undefined) throw new Refused(401, "unable to authenticate");
    if (permission === "read" && method !== "GET")
      throw new Refused(403, "the token is only allowed to perform GET requests");
  }
}
