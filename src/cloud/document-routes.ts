// Presents a route document as routes that are created and removed individually. Changes that begin at the same moment are sent
// in one request. If another client changed the document first, it is reread, and only valid changes are sent: a removal whose
// route has changed, or a creation whose range is taken, fails as busy and is planned again.

import { type Cidr, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type {
  DesiredRoute,
  ObservedRoute,
  RouteDocument,
  RouteOutcome,
  RoutePage,
  RoutesAsDocument,
} from "../provider/routes.ts";
import type { RouteChange } from "./own-route-changes.ts";

type Waiting = RouteChange & {
  readonly call: Call;
  readonly done: (outcome: RouteOutcome) => void;
  readonly failed: (error: unknown) => void;
};

/** Maximum number of requests for the changes of one moment, while searching for the route that the cloud rejects. */
const maxRequests = 32;
/** Maximum number of attempts for the same changes while another client keeps changing the document. */
const maxConflicts = 3;
const operation = "routes.change";

export class DocumentRoutes {
  readonly #routes: RoutesAsDocument;
  readonly #clock: Clock;
  /** The document that was last read; undefined after a change that may have been applied. */
  #document: RouteDocument | undefined;
  #waiting: Waiting[] = [];
  #isSending = false;
  /** Routes that the cloud rejected individually. They are sent last, so that they do not fail other changes again. */
  readonly #refused = new Set<Cidr>();
  /** The handles of removed routes that reads still show because they lag. */
  readonly #removed = new Set<string>();

  constructor(routes: RoutesAsDocument, clock: Clock) {
    this.#routes = routes;
    this.#clock = clock;
  }

  async *list(call: Call): AsyncIterable<RoutePage> {
    yield await this.#read(call);
  }

  create(route: DesiredRoute, call: Call): Promise<RouteOutcome> {
    return this.#enqueue({ do: "create", route }, call);
  }

  remove(route: ObservedRoute, call: Call): Promise<RouteOutcome> {
    return this.#enqueue({ do: "remove", route }, call);
  }

  #enqueue(change: RouteChange, call: Call): Promise<RouteOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<RouteOutcome>();
    this.#waiting.push({ ...change, call, done: resolve, failed: reject });
    if (!this.#isSending) {
      this.#isSending = true;
      // All changes that begin at this moment have arrived by then.
      this.#clock.after(milliseconds(0), () => void this.#sendAll());
    }
    return promise;
  }

  /** Never rejects, because each change has its own outcome. */
  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const changes = this.#waiting;
      this.#waiting = [];
      // Each request uses the signal of one call.
      const groups = [...Map.groupBy(changes, ({ call }) => call).values()].flatMap((together) => {
        const [refused, fresh] = partition(together, ({ route }) => this.#refused.has(route.destination));
        return [fresh, refused].filter(({ length }) => length > 0);
      });
      let requests = 0;
      for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
        const failure = await this.#send(group);
        requests += 1;
        if (failure === undefined) continue;
        const halves = isRefused(failure.error) && requests < maxRequests ? halvesOf(group) : [];
        if (halves.length > 0) groups.unshift(...halves);
        else for (const { failed } of group) failed(forGroup(group, failure.error));
      }
    }
    this.#isSending = false;
  }

  /** Returns the error that failed the changes, if any. */
  async #send(changes: readonly Waiting[]): Promise<{ readonly error: unknown } | undefined> {
    const { call } = changes[0] as Waiting;
    try {
      let fitting = changes;
      for (let attempt = 1; ; attempt += 1) {
        call.signal.throwIfAborted();
        const document = this.#document ?? (await this.#readBeforeChange(call));
        // Omitted changes are settled, and later attempts do not send them.
        fitting = this.#leaveOut(fitting, document);
        if (fitting.length === 0) return undefined;
        try {
          this.#settle(fitting, await this.#change(fitting, document, call));
          return undefined;
        } catch (error) {
          if (!isConflict(error)) throw error;
          if (attempt === maxConflicts) throw keptChanging(error);
        }
      }
    } catch (error) {
      const destinations = new Set(changes.map(({ route }) => route.destination));
      if (isRefused(error) && destinations.size === 1) for (const one of destinations) this.#refused.add(one);
      return { error };
    }
  }

  async #change(changes: readonly Waiting[], before: RouteDocument, call: Call): Promise<RouteOutcome> {
    const create = changes.flatMap((one) => (one.do === "create" ? one.route : []));
    const remove = changes.flatMap((one) => (one.do === "remove" ? one.route : []));
    // Applies even after a failure, because the change may have been applied.
    this.#document = undefined;
    return this.#routes.change({ create, remove }, before, call);
  }

  #settle(changes: readonly Waiting[], outcome: RouteOutcome): void {
    for (const one of changes) {
      this.#refused.delete(one.route.destination);
      if (one.do === "remove" && outcome.done) this.#removed.add(one.route.handle);
      one.done(outcome);
    }
  }

  /** Settles the changes that conflict with another client's changes; returns the others. */
  #leaveOut(changes: readonly Waiting[], { routes }: RouteDocument): readonly Waiting[] {
    const byHandle = new Map(routes.map((route) => [route.handle, route]));
    const isAsPlanned = (route: ObservedRoute): boolean => {
      const listed = byHandle.get(route.handle);
      return listed !== undefined && textOf(listed) === textOf(route);
    };
    const leaving = new Set(
      changes.flatMap((one) => (one.do === "remove" && isAsPlanned(one.route) ? one.route.handle : [])),
    );
    const taken = new Set(
      routes.flatMap(({ destination, handle }) =>
        leaving.has(handle) || this.#removed.has(handle) ? [] : destination,
      ),
    );
    return changes.filter((one) => {
      const { destination } = one.route;
      if (one.do === "remove" && !byHandle.has(one.route.handle)) one.done({ done: true });
      // The change was planned for a different target or owner.
      else if (one.do === "remove" && !isAsPlanned(one.route)) one.failed(isChanged(destination));
      else if (one.do === "create" && taken.has(destination)) one.failed(isTaken(destination));
      else return true;
      return false;
    });
  }

  /** No request was sent yet, so a failure does not affect the changes. */
  async #readBeforeChange(call: Call): Promise<RouteDocument> {
    try {
      return await this.#read(call);
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "unavailable") throw error;
      const text = `The route table could not be read before the change, so nothing was sent: ${error.message}`;
      throw new CloudError("busy", text, error.detail);
    }
  }

  async #read(call: Call): Promise<RouteDocument> {
    const document = await this.#routes.read(call);
    const shown = new Set(document.routes.map(({ handle }) => handle));
    for (const handle of this.#removed) if (!shown.has(handle)) this.#removed.delete(handle);
    this.#document = document;
    return document;
  }
}

const isConflict = (error: unknown): error is CloudError => CloudError.is(error) && error.kind === "conflict";
const isRefused = (error: unknown): boolean =>
  CloudError.is(error) && (error.kind === "invalid" || error.kind === "quota");

/** Not reported as a conflict, because for a single route a conflict means that the route exists. */
function keptChanging(error: CloudError): CloudError {
  return new CloudError(
    "busy",
    `Other clients keep changing the route table: ${error.message}`,
    error.detail,
  );
}

/**
 * For a single route, not-found means that the route is gone. For a request that creates routes, the error is ambiguous.
 */
function forGroup(changes: readonly Waiting[], error: unknown): unknown {
  const isClear = changes.every((one) => one.do === "remove");
  if (isClear || !CloudError.is(error) || error.kind !== "not-found") return error;
  return new CloudError("unavailable", error.message, error.detail);
}

/** Text that compares a route with the route in the plan. */
const textOf = (route: DesiredRoute | ObservedRoute): string => JSON.stringify(route);

function isChanged(destination: Cidr): CloudError {
  const text = `Another client has changed the route for ${destination}, so its removal is planned again.`;
  return new CloudError("busy", text, { operation });
}

function isTaken(destination: Cidr): CloudError {
  const text = `Another client has just created a route for ${destination}, so this one is planned again.`;
  return new CloudError("busy", text, { operation });
}

/** Keyed by destination, because removing a route and creating its replacement are one change. */
function halvesOf(changes: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const groups = [...Map.groupBy(changes, ({ route }) => route.destination).values()];
  if (groups.length < 2) return [];
  const middle = Math.ceil(groups.length / 2);
  return [groups.slice(0, middle).flat(), groups.slice(middle).flat()];
}

function partition<T>(all: readonly T[], test: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(test), all.filter((one) => !test(one))];
}
