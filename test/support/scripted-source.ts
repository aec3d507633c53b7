// A scripted source of machines: it counts its calls, and can fail, stall, end early or return incorrect
// results. It takes only the given delay.

import { type Milliseconds, milliseconds, providerID } from "../../src/core/brand.ts";
import { type Clock, sleep } from "../../src/platform/clock.ts";
import type { Call } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type {
  Instance,
  InstanceLookup,
  InstanceSource,
  LookupResult,
  MatchKey,
} from "../../src/provider/instances.ts";

export interface ScriptOptions {
  readonly clock: Clock;
  readonly name?: string;
  readonly scheme?: string;
  readonly pageSize?: number;
  readonly uniqueNames?: true;
  /** Duration of each page or lookup. */
  readonly takes?: Milliseconds;
  /** Kinds of keys that can be looked up, each with the maximum per request. */
  readonly lookups?: Readonly<Partial<Record<MatchKey, number>>>;
}

export const machine = (key: string, changes: Partial<Instance> = {}): Instance => ({
  key,
  id: providerID(`fake://${key}`),
  names: [key],
  title: key,
  addresses: [{ kind: "InternalIP", value: "10.0.0.1" }],
  type: "t1.micro",
  state: "running",
  ...changes,
});

export const outage = (operation = "GET /machines"): CloudError =>
  new CloudError("unavailable", `${operation} failed: 500`, { operation, status: 500 });

const keysUnder = (instance: Instance, by: MatchKey): readonly string[] =>
  ({
    id: [instance.key],
    name: instance.names,
    shortName: instance.shortName === undefined ? [] : [instance.shortName],
    uuid: instance.uuids ?? [],
    address: instance.addresses.map(({ value }) => value),
  })[by];

export class ScriptedSource implements InstanceSource {
  readonly name: string;
  readonly machines = new Map<string, Instance>();
  /** Started listings and lookups by kind, in order. */
  readonly calls: { readonly at: number; readonly what: string; readonly urgency: string }[] = [];
  /** Thrown by every call, or only by listings or lookups, while it is set. */
  failure: { readonly error: Error; readonly only?: "listing" | "lookup" } | undefined;
  /** The listing throws after this many pages. */
  breaksAfter: number | undefined;
  /** Keys of existing machines that listings, lookups or both omit. */
  readonly hidden = new Map<string, "listing" | "lookup" | "both">();
  /** Keys for which lookups return no result. */
  readonly unanswered = new Set<string>();
  readonly lookups?: Readonly<Partial<Record<MatchKey, InstanceLookup>>>;
  readonly uniqueNames: true | undefined;
  selfReported: true | undefined;
  /** Duration of each page or lookup. */
  takes: Milliseconds;
  readonly #options: ScriptOptions;

  constructor(options: ScriptOptions, machines: readonly Instance[] = []) {
    this.#options = options;
    this.takes = options.takes ?? milliseconds(0);
    this.name = options.name ?? "cloud";
    this.uniqueNames = options.uniqueNames;
    for (const each of machines) this.machines.set(each.key, each);
    if (options.lookups === undefined) return;
    const kinds = Object.entries(options.lookups) as [MatchKey, number][];
    this.lookups = Object.fromEntries(
      kinds.map(([by, limit]) => [
        by,
        { limit, find: (keys: readonly string[], call: Call) => this.#find(by, keys, call) },
      ]),
    );
  }

  keyOf(id: string): string | undefined {
    const scheme = this.#options.scheme ?? "fake://";
    return id.startsWith(scheme) ? id.slice(scheme.length) : undefined;
  }

  get listings(): number {
    return this.calls.filter(({ what }) => what === "list").length;
  }

  get lookupCalls(): readonly string[] {
    return this.calls.flatMap(({ what }) => (what.startsWith("find") ? [what] : []));
  }

  put(...machines: readonly Instance[]): void {
    for (const each of machines) this.machines.set(each.key, each);
  }

  async *list(call: Call): AsyncIterable<readonly Instance[]> {
    this.#count("list", call);
    const visible = [...this.machines.values()].filter(({ key }) => !this.#isHidden(key, "listing"));
    const size = this.#options.pageSize ?? 50;
    for (let page = 0; page === 0 || page * size < visible.length; page += 1) {
      await this.#work("listing", call);
      if (this.breaksAfter !== undefined && page >= this.breaksAfter) throw outage("GET /machines?page");
      yield visible.slice(page * size, (page + 1) * size);
    }
  }

  async #find(by: MatchKey, keys: readonly string[], call: Call): Promise<LookupResult> {
    this.#count(`find ${by} ${keys.join(",")}`, call);
    const known = [...this.machines.values()].filter(({ key }) => !this.#isHidden(key, "lookup"));
    await this.#work("lookup", call);
    return new Map(
      keys
        .filter((key) => !this.unanswered.has(key))
        .map((key) => [key, known.filter((instance) => keysUnder(instance, by).includes(key))]),
    );
  }

  #count(what: string, call: Call): void {
    this.calls.push({ at: this.#options.clock.monotonic(), what, urgency: call.urgency });
  }

  #isHidden(key: string, from: "listing" | "lookup"): boolean {
    const hidden = this.hidden.get(key);
    return hidden === from || hidden === "both";
  }

  async #work(kind: "listing" | "lookup", { signal }: Call): Promise<void> {
    if (this.takes > 0) await sleep(this.#options.clock, this.takes, signal);
    if (this.failure !== undefined && (this.failure.only ?? kind) === kind) throw this.failure.error;
  }
}
