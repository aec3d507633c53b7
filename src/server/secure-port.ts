// Handles a request on the secure port: authenticates, authorizes, and serves the page. An error in a page becomes a
// response and never ends the process.

import { isKubeError } from "../kube/errors/kube-error.ts";
import type { Clock } from "../platform/clock.ts";
import type { ServedRequest, ServedResponse } from "../platform/listener.ts";
import { refusal } from "./answers.ts";
import type { Authentication } from "./authenticate.ts";
import type { AccessDecision } from "./authorizer.ts";
import { ClientLimits } from "./client-limits.ts";
import type { User } from "./identity.ts";
import { TooManyReviews } from "./reviews.ts";

export interface PageRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: ServedRequest["body"];
  readonly headers: ServedRequest["headers"];
}

export type ServedPage = (request: PageRequest) => ServedResponse | Promise<ServedResponse>;

export interface SecurePortOptions {
  readonly authenticate: (request: ServedRequest) => Promise<Authentication>;
  readonly authorize: (user: User, verb: string, path: string) => Promise<AccessDecision>;
  /** By exact path; a path that ends with a slash serves everything below it. */
  readonly pages: Readonly<Record<string, ServedPage>>;
  readonly clock: Pick<Clock, "monotonic">;
  /** Removes secrets from every response. */
  readonly redact: (text: string) => string;
  /** Called when a page throws. */
  readonly onInternalError: (path: string, error: unknown) => void;
}

/** More simultaneous requests would only wait for each other. Each metrics collector sends one every few seconds. */
const limits = { inFlight: 256, inFlightOfClient: 64, perSecond: 1000 } as const;
/** The limits for requests of unauthenticated clients. A single address must not use all slots for token reviews (reviews.ts). */
const reviewLimits = { inFlight: 64, inFlightOfClient: 16, perSecond: 1000 } as const;
const notCached = { "cache-control": "no-cache, private" } as const;

function pageOf(pages: Readonly<Record<string, ServedPage>>, path: string): ServedPage | undefined {
  if (Object.hasOwn(pages, path)) return pages[path];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const folder = path.slice(0, end + 1);
    if (Object.hasOwn(pages, folder)) return pages[folder];
  }
  return undefined;
}

/** Undefined for ambiguous paths, because the authorized path must be exactly the served path. */
export function readTarget(target: string): { path: string; query: URLSearchParams } | undefined {
  const [path = "", ...query] = target.split("?");
  if (!path.startsWith("/") || path.length > 1024 || /[%\\#]|\/\/|\/\.{1,2}(\/|$)/.test(path)) {
    return undefined;
  }
  return { path, query: new URLSearchParams(query.join("?")) };
}

function accessError(error: unknown): ServedResponse {
  if (error instanceof TooManyReviews) return refusal(429, error.message);
  const reason = isKubeError(error) ? `: ${error.message}` : ".";
  return refusal(
    500,
    `The manager could not check what you may read, because its own request failed${reason}`,
  );
}

export class SecurePort {
  readonly #options: SecurePortOptions;
  readonly #limits: ClientLimits;
  readonly #reviews: ClientLimits;

  constructor(options: SecurePortOptions) {
    this.#options = options;
    this.#limits = new ClientLimits(limits, options.clock);
    this.#reviews = new ClientLimits(reviewLimits, options.clock);
  }

  async handle(request: ServedRequest): Promise<ServedResponse> {
    const leave = this.#limits.enter(request.client);
    if (leave === undefined) return refusal(429, "Too many requests. Retry in a second.");
    try {
      const response = await this.#respond(request);
      const body = this.#options.redact(response.body);
      return { ...response, body, headers: { ...notCached, ...response.headers } };
    } finally {
      leave();
    }
  }

  async #respond(request: ServedRequest): Promise<ServedResponse> {
    const target = readTarget(request.target);
    if (target === undefined) return refusal(400, "Invalid request path.");
    const { path, query } = target;
    try {
      const denied = await this.#denial(request, path);
      if (denied !== undefined) return denied;
    } catch (error) {
      return accessError(error);
    }
    const page = pageOf(this.#options.pages, path);
    if (page === undefined) return refusal(404, `Page ${path} not found. GET / lists all pages.`);
    const { method, body, headers } = request;
    try {
      return await page({ method, path, query, body, headers });
    } catch (error) {
      this.#options.onInternalError(path, error);
      return refusal(500, "Internal error; see the log of the controller manager.");
    }
  }

  /** The response to a client without access; undefined when access is allowed. */
  async #denial(request: ServedRequest, path: string): Promise<ServedResponse | undefined> {
    const leave = this.#reviews.enter(request.client);
    if (leave === undefined) throw new TooManyReviews();
    try {
      return await this.#reviewed(request, path);
    } finally {
      leave();
    }
  }

  async #reviewed(request: ServedRequest, path: string): Promise<ServedResponse | undefined> {
    const { authenticate, authorize } = this.#options;
    const authentication = await authenticate(request);
    if (authentication.kind === "rejected") return refusal(401, "Unauthorized");
    const { user } = authentication;
    const verb = request.method.toLowerCase();
    const decision = await authorize(user, verb, path);
    if (decision.allowed) return undefined;
    const reason = decision.reason === "" ? "" : `: ${decision.reason}`;
    return refusal(
      403,
      `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}${reason}`,
    );
  }
}

/** A page that allows only GET and HEAD. */
export function readOnly(page: ServedPage): ServedPage {
  return (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? page(request)
      : refusal(405, `${request.path} is read-only. Use GET.`);
}
