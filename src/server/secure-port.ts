// The way of every request on the secure port: who asks, may they, then the page. No page is shown before both answers, and
// an accident in a page is an answer, never the end of the process.

import { isKubeError } from "../kube/errors/kube-error.ts";
import type { ServedHandler, ServedRequest, ServedResponse } from "../platform/listener.ts";
import { refusal } from "./answers.ts";
import type { Asker } from "./authenticate.ts";
import type { Decision } from "./authorize.ts";
import { TooManyReviews } from "./reviews.ts";
import type { User } from "./user.ts";

export interface PageRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: ServedRequest["body"];
  readonly headers: ServedRequest["headers"];
}

export type Page = (request: PageRequest) => ServedResponse | Promise<ServedResponse>;

export interface SecurePortOptions {
  readonly authenticate: (request: ServedRequest) => Promise<Asker>;
  readonly authorize: (user: User, verb: string, path: string) => Promise<Decision>;
  /** By exact path; a path that ends with a slash answers for all below it. */
  readonly pages: Readonly<Record<string, Page>>;
  readonly onAccident: (path: string, error: unknown) => void;
}

/** More would only wait for each other. */
const atOnce = 256;
const notCached = { "cache-control": "no-cache, private" } as const;

function pageOf(pages: Readonly<Record<string, Page>>, path: string): Page | undefined {
  if (Object.hasOwn(pages, path)) return pages[path];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const folder = path.slice(0, end + 1);
    if (Object.hasOwn(pages, folder)) return pages[folder];
  }
  return undefined;
}

/** Undefined when it is no path: what is authorised must be exactly what is served. */
export function readTarget(target: string): { path: string; query: URLSearchParams } | undefined {
  const [path = "", ...rest] = target.split("?");
  if (!path.startsWith("/") || path.length > 1024 || /[%\\#]|\/\/|\/\.{1,2}(\/|$)/.test(path)) {
    return undefined;
  }
  return { path, query: new URLSearchParams(rest.join("?")) };
}

function problemOf(error: unknown): ServedResponse {
  if (error instanceof TooManyReviews) return refusal(429, error.message);
  const why = isKubeError(error) ? `: ${error.message}` : ".";
  return refusal(500, `Internal error: who you are and what you may do could not be asked${why}`);
}

export function createSecurePort(options: SecurePortOptions): ServedHandler {
  const { authenticate, authorize, pages, onAccident } = options;
  let running = 0;

  const admitted = async (request: ServedRequest): Promise<ServedResponse> => {
    const target = readTarget(request.target);
    if (target === undefined) return refusal(400, "The path of the request is not one of a page here.");
    const { path, query } = target;
    try {
      const asker = await authenticate(request);
      if (asker.kind === "refused") return refusal(401, "Unauthorized");
      const { user } = asker;
      const verb = request.method.toLowerCase();
      const decision = await authorize(user, verb, path);
      if (!decision.may) {
        const why = decision.why === "" ? "" : `: ${decision.why}`;
        return refusal(
          403,
          `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}${why}`,
        );
      }
    } catch (error) {
      return problemOf(error);
    }
    const page = pageOf(pages, path);
    if (page === undefined) return refusal(404, `There is no page ${path} here; / lists those there are.`);
    const { method, body, headers } = request;
    try {
      return await page({ method, path, query, body, headers });
    } catch (error) {
      onAccident(path, error);
      return refusal(500, "Internal error: this page could not be made; the log says why.");
    }
  };

  return async (request) => {
    if (running >= atOnce) return refusal(429, "Too many requests at once; ask again in a second.");
    running += 1;
    try {
      const response = await admitted(request);
      return { ...response, headers: { ...notCached, ...response.headers } };
    } finally {
      running -= 1;
    }
  };
}

/** Pages only tell; the few that change something name their methods. */
export function readOnly(page: Page): Page {
  return (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? page(request)
      : refusal(405, `${request.path} can only be read, by GET.`);
}
