// A scripted route table in either style of the contract: it records every call and can fail for one destination, for
// all, or with a revision conflict.

import { OpenChanges } from "../../../src/controllers/route/apply/open-changes.ts";
import { TableHistory } from "../../../src/controllers/route/history.ts";
import type { Cidr, Milliseconds } from "../../../src/core/brand.ts";
import { cidr, cidrContains } from "../../../src/core/cidr.ts";
import { type Clock, sleep } from "../../../src/platform/clock.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { CloudError, type CloudErrorKind } from "../../../src/provider/errors.ts";
import type { StepOutcome } from "../../../src/provider/plan.ts";
import type {
  DesiredRoute,
  ObservedRoute,
  RouteDocument,
  Routes,
  RoutesAsDocument,
  RoutesOneByOne,
  RouteTarget,
} from "../../../src/provider/routes.ts";

/** Uses no cloud operations. */
export const openChanges = (clock: Clock): OpenChanges => {
  const history = new TableHistory();
  const deps = { pending: undefined, clock, random: seededRandom(1), note: () => undefined, history };
  return new OpenChanges(deps, () => undefined);
};

/** Whether two ranges share an address. */
const cidrsOverlap = (one: Cidr, other: Cidr): boolean =>
  cidrContains(one, other) || cidrContains(other, one);

export interface RoutesScript {
  readonly style?: Routes["style"];
  readonly families?: Routes["families"];
  readonly limit?: number;
  /** How long each call takes. */
  readonly takes?: Milliseconds;
  /** The members of a target that the cloud returns; by default the machine and its first address. */
  readonly knows?: (target: RouteTarget) => Partial<ObservedRoute>;
  readonly ownership?: ObservedRoute["ownership"];
  readonly oneAtATime?: true;
}

export const refusal = (kind: CloudErrorKind, text: string = kind, cause?: unknown): CloudError =>
  new CloudError(kind, text, { operation: "POST /routes", cause });

const machineAndAddress = ({ machine, addresses }: RouteTarget): Partial<ObservedRoute> => ({
  ...(machine !== undefined && { targetKey: machine.key }),
  ...(addresses[0] !== undefined && { targetAddress: addresses[0] }),
});

export class ScriptedRoutes {
  table: ObservedRoute[] = [];
  revision = 1;
  /** "list", "create 10.244.1.0/24", "remove r1", "change +2 -1", in order, with their times. */
  readonly calls: { readonly at: number; readonly what: string }[] = [];
  /** Thrown for this destination by creations and removals, and under "list" by every listing. */
  readonly failures = new Map<string, Error>();
  /** Results of the next creations, or of the next document changes. */
  readonly outcomes: StepOutcome[] = [];
  /** Results of the next removals. */
  readonly removals: StepOutcome[] = [];
  /** Called once, before the revision of the next change is checked. */
  beforeChange: (() => void) | undefined;
  /** The call at this position fails, before or after it takes effect. */
  failsAt: { readonly position: number; readonly error: Error; readonly lands: boolean } | undefined;
  /** Whether listings hide a route that is in the table. */
  hides: (route: ObservedRoute) => boolean = () => false;
  /** How long each call takes. */
  takes: Milliseconds | undefined;
  refusesOverlaps = false;
  inFlight = 0;
  mostInFlight = 0;
  readonly routes: Routes;
  readonly #clock: Clock;
  readonly #script: RoutesScript;
  #next = 1;

  constructor(clock: Clock, script: RoutesScript = {}) {
    this.#clock = clock;
    this.#script = script;
    this.takes = script.takes;
    this.routes = script.style === "document" ? this.#document() : this.#oneByOne();
  }

  /** Adds a route as another writer would. */
  put(destination: string, changes: Partial<ObservedRoute> = {}): ObservedRoute {
    const ownership = this.#script.ownership ?? "marked";
    const route = { handle: `r${this.#next++}`, destination: cidr(destination), ownership, ...changes };
    this.table.push(route);
    return route;
  }

  get lines(): readonly string[] {
    return this.calls.map(({ what }) => what);
  }

  get changes(): readonly string[] {
    return this.lines.filter((line) => line !== "list");
  }

  get listings(): number {
    return this.lines.length - this.changes.length;
  }

  /** "10.244.1.0/24 -> n1 10.0.0.1", sorted. */
  shown(): readonly string[] {
    return this.table
      .map(({ destination, targetKey, targetAddress }) =>
        [destination, "->", targetKey ?? "nowhere", targetAddress].filter(Boolean).join(" "),
      )
      .toSorted();
  }

  #listed(): readonly ObservedRoute[] {
    return this.table.filter((route) => !this.hides(route));
  }

  #add({ destination, target }: DesiredRoute): void {
    const clashes = this.table.some((route) =>
      this.refusesOverlaps
        ? cidrsOverlap(route.destination, destination)
        : route.destination === destination && route.ownership !== "foreign",
    );
    if (clashes) throw refusal("conflict", `a route to ${destination} already exists`);
    this.put(destination, (this.#script.knows ?? machineAndAddress)(target));
  }

  #drop({ handle }: ObservedRoute): void {
    if (!this.table.some((route) => route.handle === handle))
      throw refusal("not-found", `no route ${handle}`);
    this.table = this.table.filter((route) => route.handle !== handle);
  }

  async #call<T>(what: string, about: readonly string[], signal: AbortSignal, work: () => T): Promise<T> {
    const position = this.calls.push({ at: this.#clock.monotonic(), what }) - 1;
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      if (this.takes !== undefined) await sleep(this.#clock, this.takes, signal);
      signal.throwIfAborted();
      for (const each of about) {
        const failure = this.failures.get(each);
        if (failure !== undefined) throw failure;
      }
      const isHit = this.failsAt?.position === position;
      if (isHit && this.failsAt?.lands === false) throw this.failsAt.error;
      const result = work();
      if (isHit && this.failsAt !== undefined) throw this.failsAt.error;
      return result;
    } finally {
      this.inFlight -= 1;
    }
  }

  get #common() {
    const { families = ["IPv4", "IPv6"], limit } = this.#script;
    return { families, ...(limit !== undefined && { limit }) } as const;
  }

  #oneByOne(): RoutesOneByOne {
    const read = (signal: AbortSignal) => this.#call("list", ["list"], signal, () => this.#listed());
    return {
      ...this.#common,
      style: "one-by-one",
      ...(this.#script.oneAtATime === true && { oneAtATime: true }),
      list: async function* ({ signal }) {
        const routes = await read(signal);
        yield { routes: routes.slice(0, 2) };
        if (routes.length > 2) yield { routes: routes.slice(2) };
      },
      create: (route, { signal }) =>
        this.#call(`create ${route.destination}`, [route.destination, "*"], signal, () => {
          const outcome = this.outcomes.shift();
          if (outcome !== undefined) return outcome;
          this.#add(route);
          return { done: true };
        }),
      remove: (route, { signal }) =>
        this.#call(`remove ${route.handle}`, [route.handle, "*"], signal, () => {
          const outcome = this.removals.shift();
          if (outcome !== undefined) return outcome;
          this.#drop(route);
          return { done: true };
        }),
    };
  }

  #document(): RoutesAsDocument {
    return {
      ...this.#common,
      style: "document",
      read: ({ signal }) =>
        this.#call(
          "list",
          ["list"],
          signal,
          (): RouteDocument => ({ revision: String(this.revision), routes: this.#listed() }),
        ),
      change: ({ create, remove }, before, { signal }) => {
        const about = [
          ...create.map(({ destination }) => destination),
          ...remove.map(({ handle }) => handle),
        ];
        return this.#call(`change +${create.length} -${remove.length}`, [...about, "*"], signal, () => {
          this.beforeChange?.();
          this.beforeChange = undefined;
          if (before.revision !== String(this.revision)) throw refusal("conflict", "a different revision");
          const outcome = this.outcomes.shift();
          if (outcome !== undefined) return outcome;
          for (const route of remove) this.#drop(route);
          for (const route of create) this.#add(route);
          this.revision += 1;
          return { done: true };
        });
      },
    };
  }
}
