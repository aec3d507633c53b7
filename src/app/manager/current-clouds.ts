// The connections to the cloud, one per Lease, and how they are replaced, for example to use a new credential. The controllers keep one
// object that always forwards to the current connection. Each generation of connections has its own gate: when it has been replaced,
// it changes nothing in the cloud any more.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { AbandonedCall } from "../../cloud/call-guard.ts";
import { defined } from "../../core/defined.ts";
import type { Call } from "../../provider/call.ts";
import type { Instances } from "../../provider/instances.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { isTableList, type ServingTable, tablesOf } from "../../provider/route-tables.ts";
import type { RouteTables } from "../../provider/routes.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { type ConnectedCloud, forwardTo, forwardToVolumes } from "../connect-cloud.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { Generation, OpenClouds } from "./open-clouds.ts";

export class CurrentCloud implements ConnectedCloud {
  readonly cloud: AnyCloud;
  #connected: ConnectedCloud;

  constructor(first: ConnectedCloud) {
    this.#connected = first;
    const { instances, pending, loadBalancers, nodeFirewall, machineTags, routes, volumes, changes } =
      first.cloud;
    const forward = <T extends object>(part: T | undefined, current: () => T | undefined): T | undefined =>
      part && forwardTo(() => current() ?? part);
    this.cloud = defined({
      // The inventory replaces its sources.
      instances,
      pending: forward(pending, () => this.#connected.cloud.pending),
      loadBalancers: forward(loadBalancers, () => this.#connected.cloud.loadBalancers),
      nodeFirewall: forward(nodeFirewall, () => this.#connected.cloud.nodeFirewall),
      machineTags: forward(machineTags, () => this.#connected.cloud.machineTags),
      routes: routes && this.#forwardRoutes(routes),
      volumes: volumes && forwardToVolumes(() => this.#connected.cloud.volumes ?? volumes),
      changes: forward(changes, () => this.#connected.cloud.changes),
      checkSettings: async (call: Call) => this.#connected.cloud.checkSettings?.(call) ?? [],
    });
  }

  /** Several tables by name: `changedShape` keeps the names as they are. */
  #forwardRoutes(routes: RouteTables): RouteTables {
    const current = (): readonly ServingTable[] => {
      const now = this.#connected.cloud.routes;
      return now === undefined ? [] : tablesOf(now);
    };
    const forwarded = tablesOf(routes).map(({ name, routes: first }) =>
      forwardTo(() => current().find((table) => table.name === name)?.routes ?? first),
    );
    return (isTableList(routes) ? forwarded : forwarded[0]) as RouteTables;
  }

  get accounts(): readonly GovernedAccount<unknown>[] {
    return this.#connected.accounts;
  }

  get origins(): readonly string[] {
    return this.#connected.origins;
  }

  replace(next: ConnectedCloud): void {
    this.#connected = next;
  }
}

/** What the controllers have relied on since the start of the process. Undefined if the next connection has the same. */
export function changedShape(before: AnyCloud, after: AnyCloud): string | undefined {
  const [old, next] = [shapeOf(before), shapeOf(after)];
  return Object.keys(old).find((part) => old[part] !== next[part]);
}

function shapeOf(cloud: AnyCloud): Readonly<Record<string, string>> {
  const { instances, pending, loadBalancers, nodeFirewall, machineTags, routes, volumes, changes } = cloud;
  return {
    "the sources of instances": (instances?.sources ?? []).map(({ name }) => name).join(", "),
    "the sources of instances without access": (instances?.unreadable ?? [])
      .map(({ name }) => name)
      .join(", "),
    "how Nodes are matched": (instances?.matchBy ?? []).join(", "),
    "label prefixes": (instances?.labelPrefixes ?? []).join(", "),
    operations: String(pending !== undefined),
    "whether the cloud reports changes": String(changes !== undefined),
    "load balancers": String(loadBalancers !== undefined),
    volumes: String(volumes !== undefined),
    snapshots: String(volumes?.snapshots !== undefined),
    "whether there is a firewall of the Nodes": String(nodeFirewall !== undefined),
    "whether machines get tags": String(machineTags !== undefined),
    routes:
      routes === undefined
        ? "none"
        : tablesOf(routes)
            .map(({ name }) => name ?? "one table")
            .join(", "),
  };
}

type Open = (settings: ReadFlags, generation: Generation) => OpenClouds;

/** `isCurrent`: its connection is in use, so it may still change the cloud. */
export type AbandonedListener = (call: AbandonedCall, isCurrent: boolean) => void;

/** The generation while no connection may change the cloud. */
const closed = -1;

export class CurrentClouds {
  readonly main: CurrentCloud;
  /** The same as `main` if no controllers migrate. */
  readonly migrated: CurrentCloud;
  /** The instances of the first connection. A reload replaces the sources in the inventory. */
  readonly instances: Instances;
  readonly #open: Open;
  /** What all generations share. */
  readonly #shared = {
    budgets: { main: new Map(), migrated: new Map() },
    undeclaredReasons: new Set<string>(),
  } satisfies Pick<Generation, "budgets" | "undeclaredReasons">;
  readonly #listeners = new Set<AbandonedListener>();
  readonly #onReplaced = new Set<() => void>();
  #generation = 0;
  #opened = 0;
  /** The settings of the connections in use. */
  #settings: ReadFlags;
  #replaced: AbortController;

  /** Throws a ConfigurationError for invalid settings. */
  constructor(open: Open, first: ReadFlags) {
    this.#open = open;
    const { clouds, replaced } = this.#next(first);
    const { main, migrated, instances } = clouds;
    this.#settings = first;
    this.#replaced = replaced;
    this.main = new CurrentCloud(main);
    this.migrated = migrated === main ? this.main : new CurrentCloud(migrated);
    this.instances = instances;
  }

  /**
   * Connects with other settings, without a request. Throws a ConfigurationError if they cannot be used. Returns how to use the
   * new connections, which returns the new sources of instances.
   */
  prepare(settings: ReadFlags): () => Instances["sources"] {
    const { clouds, generation, replaced } = this.#next(settings);
    const changed = changedShape(this.main.cloud, clouds.main.cloud);
    if (changed !== undefined) throw new ConfigurationError([needsRestart(changed)]);
    return () => {
      this.#generation = generation;
      this.#settings = settings;
      this.#replaced.abort();
      this.#replaced = replaced;
      this.main.replace(clouds.main);
      if (this.migrated !== this.main) this.migrated.replace(clouds.migrated);
      for (const listener of this.#onReplaced) listener();
      return clouds.instances.sources;
    };
  }

  /** Connects again with the same settings, and returns the new sources of instances. Throws if that is impossible. */
  renew(): Instances["sources"] {
    return this.prepare(this.#settings)();
  }

  /** The connections in use change nothing in the cloud from now on. */
  close(): void {
    this.#generation = closed;
  }

  /** The listener is called for each call that a provider did not end in time. */
  subscribe(listener: AbandonedListener): void {
    this.#listeners.add(listener);
  }

  /** The listener is called when other connections are used. */
  onReplaced(listener: () => void): void {
    this.#onReplaced.add(listener);
  }

  #next(settings: ReadFlags) {
    const generation = this.#opened;
    this.#opened += 1;
    const replaced = new AbortController();
    const isCurrent = (): boolean => this.#generation === generation;
    const onAbandoned = (call: AbandonedCall): void => {
      for (const listener of this.#listeners) listener(call, isCurrent());
    };
    const own = { isCurrent, replaced: replaced.signal, onAbandoned };
    return { clouds: this.#open(settings, { ...own, ...this.#shared }), generation, replaced };
  }
}

function needsRestart(changed: string) {
  return {
    severity: "error",
    reason: "NeedsRestart",
    text: `The settings of the cloud change ${changed}, which needs a restart of this process. Restart it to use them.`,
  } as const;
}
