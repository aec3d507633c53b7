// Both node controllers with a test API server and scripted sources, in virtual time. Tests inspect everything through its
// members.

import { createLifecycleMetrics } from "../../src/app/metrics/controller-metrics.ts";
import { Inventory } from "../../src/cloud/inventory/instances.ts";
import { ForeignNodes } from "../../src/controllers/foreign-nodes.ts";
import type { RemovalMemory } from "../../src/controllers/kernel/removal-memory.ts";
import { NodeController } from "../../src/controllers/node/controller.ts";
import { NodeHistory } from "../../src/controllers/node/history.ts";
import { type NodeSettings, nodeDefaults } from "../../src/controllers/node/settings.ts";
import type { NodeDeps } from "../../src/controllers/node-deps.ts";
import { LifecycleController } from "../../src/controllers/node-lifecycle/controller.ts";
import { LifecycleHistory } from "../../src/controllers/node-lifecycle/history.ts";
import { type LifecycleSettings, lifecycleDefaults } from "../../src/controllers/node-lifecycle/settings.ts";
import { seconds } from "../../src/core/brand.ts";
import { defined } from "../../src/core/defined.ts";
import { eventTypeOf, messageIn } from "../../src/core/problem.ts";
import type { Node } from "../../src/kube/objects.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Instance, InstanceSource, Instances, MatchKey } from "../../src/provider/instances.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ApiServerNodes } from "./api-server-nodes.ts";
import { ScriptedSource, type ScriptOptions } from "./scripted-source.ts";
import { vouchedRemovals } from "./vouched-removals.ts";

export interface SetupOptions {
  readonly node?: Partial<NodeSettings>;
  readonly lifecycle?: Partial<LifecycleSettings>;
  readonly machines?: readonly Instance[];
  readonly script?: Omit<ScriptOptions, "clock">;
  /** Replaces the default source "cloud". */
  readonly sources?: (clock: VirtualClock) => readonly [InstanceSource, ...InstanceSource[]];
  readonly unreadable?: Instances["unreadable"];
  readonly matchBy?: readonly MatchKey[];
  readonly ownPrefixes?: readonly string[];
  /** --foreign-nodes. */
  readonly foreignNodes?: "ignore" | "targets";
  readonly mode?: "enforce" | "observe";
  readonly lag?: number;
  readonly isSelected?: (node: Node) => boolean;
  readonly concurrency?: number;
  readonly removals?: (clock: VirtualClock) => RemovalMemory;
}

export interface Reported {
  readonly at: number;
  readonly node: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly isQuiet: boolean | undefined;
}

type ControllerName = "node" | "lifecycle";

export class NodeControllers {
  readonly clock = new VirtualClock();
  readonly cloud: ScriptedSource;
  readonly inventory: Inventory;
  readonly nodes: ApiServerNodes;
  readonly reported: Reported[] = [];
  readonly initialized: string[] = [];
  readonly metrics = new Metrics();
  /** The controllers of the current session. */
  node: NodeController;
  lifecycle: LifecycleController;
  readonly removals: RemovalMemory;
  readonly foreignNodes: ForeignNodes | undefined;
  readonly #stop = new AbortController();
  #session = new AbortController();
  #running: { readonly name: ControllerName; readonly ended: Promise<void> }[] = [];
  readonly #hasRun = new Set<ControllerName>();
  readonly #compose: Readonly<Record<ControllerName, () => void>>;

  constructor(options: SetupOptions = {}) {
    const { clock } = this;
    const random = seededRandom(7);
    this.removals = options.removals?.(clock) ?? vouchedRemovals(clock);
    this.cloud = new ScriptedSource({ clock, ...options.script }, options.machines);
    const sources = options.sources?.(clock) ?? [this.cloud];
    this.inventory = new Inventory({
      instances: { sources, matchBy: options.matchBy ?? ["name"], unreadable: options.unreadable },
      clock,
      signal: this.#stop.signal,
    });
    this.nodes = new ApiServerNodes(defined({ clock, random, mode: options.mode, lag: options.lag }));
    const deps: NodeDeps = {
      nodes: this.nodes.store,
      writes: this.nodes.writes,
      inventory: this.inventory,
      report: ({ metadata: { name: node } }, problem) => {
        const [type, message] = [eventTypeOf(problem), messageIn(problem)];
        const { reason, isQuiet } = problem;
        this.reported.push({ at: clock.monotonic(), node, type, reason, message, isQuiet });
      },
      note: () => undefined,
      clock,
      random,
      isSelected: options.isSelected ?? (() => true),
      concurrency: options.concurrency ?? 8,
    };
    const nodeHistory = new NodeHistory(deps);
    const isUsed = options.foreignNodes === "targets";
    this.foreignNodes = isUsed ? new ForeignNodes({ ...deps, confirmAfter: seconds(30) }) : undefined;
    const composeNode = () =>
      new NodeController(
        {
          ...deps,
          settings: { ...nodeDefaults, ...options.node },
          ownPrefixes: options.ownPrefixes ?? [],
          foreignNodes: this.foreignNodes,
          onInitialized: (node) => this.initialized.push(node.metadata.name),
        },
        nodeHistory,
      );
    const { removals } = this;
    const lifecycleHistory = new LifecycleHistory({ ...deps, removals, formerLeaders: () => 0 });
    this.inventory.subscribe(() => removals.account.note());
    const onLookup = createLifecycleMetrics(this.metrics);
    const composeLifecycle = () =>
      new LifecycleController(
        {
          ...deps,
          settings: { ...lifecycleDefaults, ...options.lifecycle },
          removals,
          onLookup,
        },
        lifecycleHistory,
      );
    this.node = composeNode();
    this.lifecycle = composeLifecycle();
    this.#compose = {
      node: () => {
        this.node = composeNode();
      },
      lifecycle: () => {
        this.lifecycle = composeLifecycle();
      },
    };
  }

  /** Starts controllers that have run before again. */
  start(...which: readonly ControllerName[]): this {
    for (const name of which) {
      if (this.#hasRun.has(name)) this.#compose[name]();
      this.#hasRun.add(name);
      this.#running.push({ name, ended: this[name].run(this.#session.signal) });
    }
    return this;
  }

  /** Ends the leadership session of the running controllers. Returns their names. */
  async endSession(): Promise<readonly ControllerName[]> {
    const running = this.#running;
    this.#session.abort(new Error("The leadership session is over."));
    await Promise.all(running.map(({ ended }) => ended));
    this.#session = new AbortController();
    this.#running = [];
    return running.map(({ name }) => name);
  }

  /** Begins another leadership session of the running controllers. */
  async handOver(): Promise<void> {
    this.start(...(await this.endSession()));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("The test is over."));
    this.#session.abort(this.#stop.signal.reason);
    await Promise.all(this.#running.map(({ ended }) => ended));
  }

  /** Advances the clock by this many seconds. */
  pass(amountInSeconds: number): Promise<void> {
    return this.clock.advance(seconds(amountInSeconds));
  }

  until(condition: () => boolean, what: string, withinSeconds = 60): Promise<void> {
    return this.clock.until(condition, seconds(withinSeconds), what);
  }

  reasons(node: string): readonly string[] {
    return this.reported.flatMap((reported) => (reported.node === node ? [reported.reason] : []));
  }
}

export const uninitialized = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
} as const;

/** A Node joins: it has the taint and the kubelet's hostname. */
export const joins = (at: NodeControllers, name = "n0", providerID?: string) =>
  at.nodes.add({
    name,
    spec: { taints: [uninitialized], ...(providerID !== undefined && { providerID }) },
    status: { addresses: [{ type: "Hostname", address: name }] },
  });
