// The bearer token of a request, and whether it is good: asked of the API server by TokenReview, remembered for some seconds
// under a hash, so that no token lies in memory.

import { createHash } from "node:crypto";
import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import type { AskReview } from "./reviews.ts";
import { type Claim, noClaim } from "./user.ts";

type Headers = readonly (readonly [name: string, value: string])[];

function bearerOf(headers: Headers): string | undefined {
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

function claimOf(status: TokenReviewStatus): Claim {
  const { user } = status;
  if (status.authenticated !== true || user?.username === undefined || user.username === "") {
    return { kind: "bad", why: "the bearer token is not good" };
  }
  const { username: name, uid, groups = [], extra } = user;
  return {
    kind: "user",
    user: { name, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }) },
  };
}

export function createTokenAuthenticator(
  ask: AskReview,
  { clock, lifetime }: { readonly clock: Clock; readonly lifetime: Milliseconds },
): (headers: Headers) => Promise<Claim> {
  const cache = new ExpiringCache<Claim>({ clock, size: 2048, lifetime: () => lifetime });
  return async (headers) => {
    const token = bearerOf(headers);
    if (token === undefined) return noClaim;
    const key = createHash("sha256").update(token).digest("base64");
    return cache.get(key, async () => claimOf(await ask("tokenreviews", { token })));
  };
}
