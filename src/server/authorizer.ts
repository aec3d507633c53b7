// Authorizes requests: administrators and open paths are always allowed, and the API server decides all other
// requests by SubjectAccessReview. Its decisions are cached for some seconds.

import type { Milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import type { Clock } from "../platform/clock.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import type { User } from "./identity.ts";
import type { AskReview } from "./reviews.ts";

export type AccessDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: string };

export interface AuthorizerOptions {
  /** Undefined without an API server; only open paths are then allowed. */
  readonly ask: AskReview | undefined;
  readonly clock: Clock;
  /** Exact paths, or prefixes that end with `*`. */
  readonly alwaysAllow: readonly string[];
  readonly allowedFor: Milliseconds;
  readonly deniedFor: Milliseconds;
}

/** As in upstream, a missing leading slash is added. */
const withSlash = (path: string): string => (path.startsWith("/") ? path : `/${path}`);

function isOpen(path: string, openPaths: readonly string[]): boolean {
  return openPaths.map(withSlash).some((pattern) => {
    return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
  });
}

interface AccessStatus {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
}

const allowed: AccessDecision = { allowed: true };

export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #decisions: ExpiringCache<AccessDecision>;

  constructor(options: AuthorizerOptions) {
    const { clock, allowedFor, deniedFor } = options;
    this.#options = options;
    this.#decisions = new ExpiringCache({
      clock,
      size: 2048,
      lifetime: (decision) => (decision.allowed ? allowedFor : deniedFor),
    });
  }

  async authorize(user: User, verb: string, path: string): Promise<AccessDecision> {
    const { ask, alwaysAllow } = this.#options;
    if (user.groups.includes("system:masters")) return allowed;
    if (isOpen(path, alwaysAllow)) return allowed;
    if (ask === undefined) return { allowed: false, reason: "no API server is available to authorize it" };
    const { name, groups, uid, extra } = user;
    const spec = {
      user: name,
      groups,
      ...defined({ uid, extra }),
      nonResourceAttributes: { path, verb },
    };
    return this.#decisions.get(JSON.stringify(spec), async () => {
      const status = (await ask("subjectaccessreviews", spec)) as AccessStatus;
      if (status.allowed === true && status.denied !== true) return allowed;
      return { allowed: false, reason: status.reason ?? "" };
    });
  }
}
