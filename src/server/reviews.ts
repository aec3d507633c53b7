// Asks the API server who sends a bearer token and what a user may do, and caches the answers. Only a few reviews are sent at a
// time, so that a flood of new tokens cannot use up the requests that the Lease needs.

import { createHash } from "node:crypto";
import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { codeOf } from "../core/error-message.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { ServedRequest } from "../platform/listener.ts";
import type { Random } from "../platform/random.ts";
import { type CredentialCheck, noCredential, type User } from "./identity.ts";

export type ReviewKind = "tokenreviews" | "subjectaccessreviews";

/** Returns the status of the review. Throws `TooManyReviews` or the error of the request. */
export type AskReview = (kind: ReviewKind, spec: object) => Promise<object>;

export class TooManyReviews extends Error {
  constructor() {
    super("Too many access reviews are waiting for the API server. Retry in a second.");
    this.name = "TooManyReviews";
  }
}

export interface ReviewsOptions {
  readonly api: Pick<KubeApi, "request">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onReview: (kind: ReviewKind, code: string, durationMs: number) => void;
}

const kinds = {
  tokenreviews: { group: "authentication.k8s.io", kind: "TokenReview" },
  subjectaccessreviews: { group: "authorization.k8s.io", kind: "SubjectAccessReview" },
} as const;

const maxInFlight = 4;
const maxWaiting = 64;

export class Reviews {
  readonly #options: ReviewsOptions;
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: ReviewsOptions) {
    this.#options = options;
  }

  async ask(plural: ReviewKind, spec: object): Promise<object> {
    const { api, clock, signal, onReview } = this.#options;
    const { group, kind } = kinds[plural];
    await this.#enter();
    const started = clock.monotonic();
    let code = "error";
    try {
      const reply = (await api.request(
        {
          verb: "create",
          resource: plural,
          path: `/apis/${group}/v1/${plural}`,
          body: { apiVersion: `${group}/v1`, kind, metadata: {}, spec },
          deadline: seconds(10),
        },
        signal,
      )) as { readonly status?: object };
      code = "201";
      return reply.status ?? {};
    } catch (error) {
      if (isKubeError(error) && error.status !== undefined) code = String(error.status);
      throw error;
    } finally {
      this.#leave();
      onReview(plural, code, milliseconds(clock.monotonic() - started));
    }
  }

  async #enter(): Promise<void> {
    if (this.#inFlight < maxInFlight) {
      this.#inFlight += 1;
      return;
    }
    if (this.#waiting.length >= maxWaiting) throw new TooManyReviews();
    // `#leave` passes its place on, so it is already counted.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inFlight -= 1;
    else next();
  }
}

// Repeats a review that the API server could not answer at the moment, as upstream does, so that one overloaded moment does
// not fail the request of a client with a valid token.

// Upstream's figures.
const maxAttempts = 5;
const firstDelay = milliseconds(500);
const factor = 1.5;
const jitter = 0.2;
/** How long after the first attempt another one may begin. */
const maxDuration = seconds(10);

export interface RetryDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * As in upstream, a refused connection or an expired deadline is not retried, because the client would only wait
 * longer.
 */
function isTransient(error: unknown): boolean {
  if (!isKubeError(error)) return false;
  const isStatus = error.status !== undefined && [429, 500, 504].includes(error.status);
  return isStatus || error.retryAfter !== undefined || codeOf(error.cause) === "ECONNRESET";
}

function delayAfter(error: unknown, attempts: number, random: Random): Milliseconds {
  const delay = firstDelay * factor ** (attempts - 1) * (1 + jitter * random.fraction());
  const requested = isKubeError(error) ? (error.retryAfter ?? 0) : 0;
  return milliseconds(Math.round(Math.max(delay, requested)));
}

export function retryReview(ask: AskReview, { clock, random, signal }: RetryDeps): AskReview {
  return async (kind, spec) => {
    const end = clock.monotonic() + maxDuration;
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await ask(kind, spec);
      } catch (error) {
        const delay = delayAfter(error, attempts, random);
        const isLate = clock.monotonic() + delay > end;
        if (!isTransient(error) || attempts >= maxAttempts || isLate) throw error;
        await sleep(clock, delay, signal);
      }
    }
  };
}

// A cache of results with a lifetime and a maximum size. It runs one lookup per key at a time, and caches no errors.

export interface ExpiringCacheOptions<T> {
  readonly clock: Clock;
  readonly size: number;
  readonly lifetime: (value: T) => Milliseconds;
}

class ExpiringCache<T> {
  readonly #options: ExpiringCacheOptions<T>;
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #pending = new Map<string, Promise<T>>();

  constructor(options: ExpiringCacheOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, lookUp: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const known = this.#entries.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return Promise.resolve(known.value);
    this.#entries.delete(key);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const started = lookUp()
      .then((value) => {
        this.#add(key, value);
        return value;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, started);
    return started;
  }

  #add(key: string, value: T): void {
    const { clock, size, lifetime } = this.#options;
    const duration = lifetime(value);
    if (duration <= 0) return;
    // A Map iterates in the order of insertion, so the first key is the oldest.
    const oldest = this.#entries.size >= size ? this.#entries.keys().next().value : undefined;
    if (oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, { value, until: clock.monotonic() + duration });
  }
}

// Authorizes requests: administrators and open paths are always allowed, and the API server decides all other
// requests by SubjectAccessReview. Its decisions are cached for some seconds.

export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

export interface AuthorizerOptions {
  /** Undefined without an API server; then only open paths are allowed. */
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

const allowed: Decision = { allowed: true };

export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #decisions: ExpiringCache<Decision>;

  constructor(options: AuthorizerOptions) {
    const { clock, allowedFor, deniedFor } = options;
    this.#options = options;
    this.#decisions = new ExpiringCache({
      clock,
      size: 2048,
      lifetime: (decision) => (decision.allowed ? allowedFor : deniedFor),
    });
  }

  async authorize(user: User, verb: string, path: string): Promise<Decision> {
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

// Checks the bearer token of a request by TokenReview. Results are cached for some seconds by the hash of the token, so that
// no token stays in memory.

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
