// Checks the bearer token of a request by TokenReview. Results are cached for some seconds by the hash of the token, so that
// no token stays in memory.

import { createHash } from "node:crypto";
import type { Milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import type { Clock } from "../platform/clock.ts";
import type { ServedRequest } from "../platform/listener.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import { type CredentialCheck, noCredential } from "./identity.ts";
import type { AskReview } from "./reviews.ts";

function bearerTokenIn(headers: ServedRequest["headers"]): string | undefined {
  const given = headers.find(([name]) => name === "authorization")?.[1] ?? "";
  return /^bearer +(\S+) *$/i.exec(given)?.[1];
}

interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

function toCheck({ authenticated, user }: TokenReviewStatus): CredentialCheck {
  if (authenticated !== true || user?.username === undefined || user.username === "") {
    return { kind: "invalid", reason: "invalid bearer token" };
  }
  const { username: name, uid, groups = [], extra } = user;
  return { kind: "user", user: { name, groups, ...defined({ uid, extra }) } };
}

export class TokenAuthenticator {
  readonly #ask: AskReview;
  readonly #results: ExpiringCache<CredentialCheck>;

  constructor(
    ask: AskReview,
    { clock, lifetime }: { readonly clock: Clock; readonly lifetime: Milliseconds },
  ) {
    this.#ask = ask;
    this.#results = new ExpiringCache({ clock, size: 2048, lifetime: () => lifetime });
  }

  async check(headers: ServedRequest["headers"]): Promise<CredentialCheck> {
    const token = bearerTokenIn(headers);
    if (token === undefined) return noCredential;
    const key = createHash("sha256").update(token).digest("base64");
    return this.#results.get(key, async () => toCheck(await this.#ask("tokenreviews", { token })));
  }
}
