// What somebody may do here: administrators everything, everybody the open paths, and for the rest the API server is asked
// by SubjectAccessReview, whose answer counts for some seconds.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import type { AskReview } from "./reviews.ts";
import type { User } from "./user.ts";

export type Decision = { readonly may: true } | { readonly may: false; readonly why: string };

export interface AuthorizeOptions {
  /** Undefined where nobody can be asked: then nothing but the open paths is allowed. */
  readonly ask: AskReview | undefined;
  readonly clock: Clock;
  /** Exact, or a beginning with `*` behind it. */
  readonly alwaysAllow: readonly string[];
  readonly allowedFor: Milliseconds;
  readonly deniedFor: Milliseconds;
}

/** Upstream takes the slash in front as given, and so do we. */
const slashed = (path: string): string => (path.startsWith("/") ? path : `/${path}`);

function isOpen(path: string, open: readonly string[]): boolean {
  return open.some((one) => {
    const pattern = slashed(one);
    return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
  });
}

interface AccessStatus {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
}

const allowed: Decision = { may: true };

export function createAuthorize({ ask, clock, alwaysAllow, allowedFor, deniedFor }: AuthorizeOptions) {
  const cache = new ExpiringCache<Decision>({
    clock,
    size: 2048,
    lifetime: ({ may }) => (may ? allowedFor : deniedFor),
  });
  return async (user: User, verb: string, path: string): Promise<Decision> => {
    if (user.groups.includes("system:masters")) return allowed;
    if (isOpen(path, alwaysAllow)) return allowed;
    if (ask === undefined) return { may: false, why: "no API server can be asked about access" };
    const { name, groups, uid, extra } = user;
    const spec = {
      user: name,
      groups,
      ...(uid !== undefined && { uid }),
      ...(extra !== undefined && { extra }),
      nonResourceAttributes: { path, verb },
    };
    return cache.get(JSON.stringify(spec), async () => {
      const status = (await ask("subjectaccessreviews", spec)) as AccessStatus;
      if (status.allowed === true && status.denied !== true) return allowed;
      return { may: false, why: status.reason ?? "" };
    });
  };
}
