// API tokens. Several can be valid at once, so that a test can rotate them.

import { Refusal } from "./base/answer.ts";

export type Permission = "read" | "read-write";

export class Tokens {
  readonly #byToken = new Map<string, Permission>();
  #isStrict = false;
  /** The code of a change with a token for reading. The API returned `token_readonly` until 2026. */
  readonlyCode: "forbidden" | "token_readonly" = "forbidden";

  /** Until a token is added, every token is valid. */
  add(token: string, permission: Permission = "read-write"): void {
    this.#byToken.set(token, permission);
  }

  revoke(token: string): void {
    this.#byToken.delete(token);
    this.#isStrict = true;
  }

  /** Throws a Refusal unless the request is allowed. */
  check(authorization: string | undefined, method: string): void {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1];
    const isOpen = this.#byToken.size === 0 && !this.#isStrict;
    const permission = token === undefined ? undefined : isOpen ? "read-write" : this.#byToken.get(token);
    if (permission === undefined) throw new Refusal("unauthorized", "unable to authenticate");
    if (permission === "read" && method !== "GET")
      throw new Refusal(this.readonlyCode, "the token is only allowed to perform GET requests");
  }
}
