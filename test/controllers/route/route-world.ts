// The route controller over several leadership sessions with a test API server, scripted machines
// and a scripted route table, in virtual time. Tests inspect its members.

import { ControllerSlot } from "../../../src/app/manager/controller-slot.ts";
import { routeTablesOf } from "../../../src/cloud/ideal-route-tables.ts";
import { Inventory } from "../../../src/cloud/inventory/instances.ts";
import { journalledCloudSend } from "../../../src/controllers/kernel/journalled-send.ts";
import type { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { RouteController } from "../../../src/controllers/route/controller.ts";
import { type RouteSettings, type RouteSync, routeDefaults } from "../../../src/controllers/route/deps.ts";
import { RouteHistory } from "../../../src/controllers/route/history.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { seconds } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { messageIn, type Problem } from "../../../src/core/problem.ts";
import type { Condition, Node } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { Instances } from "../../../src/provider/instances.ts";
import type { Pending } from "../../../src/provider/plan.ts";
import type { RouteTables } from "../../../src/provider/routes.ts";
import { Draining } from "../../../src/runtime/draining.ts";
import type { JournalEntry } from "../../../src/runtime/journal.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { ApiServerNodes } from "../../support/api-server-nodes.ts";
import { machine, ScriptedSource, type ScriptOptions } from "../../support/scripted-source.ts";
import { vouchedRemovals } from "../../support/vouched-removals.ts";
import { type RoutesScript, ScriptedRoutes } from "./scripted-routes.ts";

export interface RouteSetup {
  readonly settings?: Partial<RouteSettings>;
  readonly clusterCIDRs?: readonly string[];
  readonly script?: RoutesScript;
  readonly machines?: Omit<ScriptOptions, "clock">;
  readonly mode?: "enforce" | "observe";
  readonly lag?: number;
  /** Replaces the scripted table. */
  readonly routes?: (clock: VirtualClock) => RouteTables;
  readonly pending?: Pending;
  readonly selector?: Readonly<Record<string, string>>;
  readonly unreadable?: Instances["unreadable"];
  /** Set if another process has led before. */
  readonly hasPredecessor?: true;
}

export interface NodeToAdd {
  readonly podCIDRs?: readonly string[];
  readonly address?: string;
  readonly providerID?: string;
  readonly conditions?: readonly Condition[];
  readonly hasMachine?: boolean;
  readonly isPaused?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

export class RouteWorld {
  readonly clock = new VirtualClock();
  readonly machines: ScriptedSource;
  readonly inventory: Inventory;
  readonly cloud: ScriptedRoutes;
  readonly nodes: ApiServerNodes;
  readonly reported: { readonly node: string; readonly reason: string; readonly message: string }[] = [];
  readonly reportedProblems: Pick<Problem, "reason" | "text">[] = [];
  readonly syncs: RouteSync[] = [];
  readonly removals: RemovalMemory;
  /** Messages about holds of the mass limit. */
  readonly held: string[] = [];
  readonly #slot: ControllerSlot<RouteController>;
  readonly #stop = new AbortController();
  #session = new AbortController();
  #formerLeaders: number;
  #running: Promise<void> | undefined;

  constructor(setup: RouteSetup = {}) {
    const { clock } = this;
    const { mode = "enforce", lag } = setup;
    this.#formerLeaders = setup.hasPredecessor === true ? 1 : 0;
    const random = seededRandom(7);
    this.machines = new ScriptedSource({ clock, ...setup.machines });
    this.inventory = new Inventory({
      instances: { sources: [this.machines], unreadable: setup.unreadable, matchBy: ["name"] },
      clock,
      signal: this.#stop.signal,
    });
    this.removals = vouchedRemovals(clock);
    this.cloud = new ScriptedRoutes(clock, setup.script);
    this.nodes = new ApiServerNodes({ clock, random, mode, ...(lag !== undefined && { lag }) });
    const history = new RouteHistory({
      nodes: this.nodes.store,
      inventory: this.inventory,
      removals: this.removals,
      clock,
      formerLeaders: () => this.#formerLeaders,
    });
    const routes = setup.routes?.(clock) ?? this.cloud.routes;
    const options = {
      nodes: this.nodes.store,
      writes: this.nodes.writes,
      send: journalledCloudSend({ journal: this.nodes.journal, clock, mode }),
      inventory: this.inventory,
      isSelected: ({ metadata }: Node) =>
        Object.entries(setup.selector ?? {}).every(([key, value]) => metadata.labels?.[key] === value),
      pending: setup.pending,
      clock,
      random,
      note: () => undefined,
      report: ({ metadata }: Node, problem: Problem) =>
        this.reported.push({ node: metadata.name, reason: problem.reason, message: messageIn(problem) }),
      reportProblem: (problem: Problem) =>
        this.reportedProblems.push({ reason: problem.reason, text: messageIn(problem) }),
      removals: this.removals,
      reportHold: (problem: Problem) => this.held.push(messageIn(problem)),
      settings: { ...routeDefaults, ...setup.settings },
      clusterCIDRs: (setup.clusterCIDRs ?? ["10.244.0.0/16"]).map(cidr),
      onSync: (sync: RouteSync) => this.syncs.push(sync),
    };
    const compose = () => new RouteController({ ...options, tables: routeTablesOf(routes, clock) }, history);
    const session = {};
    this.#slot = new ControllerSlot({
      name: "node-route",
      session: () => session,
      compose,
      onComposed: () => undefined,
    });
  }

  /** The controller of the current session. */
  get controller(): RouteController {
    return this.#slot.current;
  }

  /** A leadership session of this process. */
  run(signal: AbortSignal): Promise<void> {
    return this.#slot.run(signal);
  }

  /** Adds a Node and its machine, both visible immediately. */
  add(name: string, podCIDRs: readonly string[] | string, more: NodeToAdd = {}): this {
    const ranges = typeof podCIDRs === "string" ? [podCIDRs] : podCIDRs;
    const { address = "10.0.0.1", providerID = `fake://${name}` } = more;
    if (more.hasMachine !== false) this.machines.put(machine(name));
    this.nodes.add({
      name,
      ...(more.labels !== undefined && { labels: more.labels }),
      ...(more.isPaused === true && { annotations: { [pausedAnnotation]: "true" } }),
      spec: {
        ...(providerID !== "" && { providerID }),
        ...(ranges.length > 0 && { podCIDR: ranges[0] ?? "", podCIDRs: ranges }),
      },
      status: {
        ...(address !== "" && { addresses: [{ type: "InternalIP", address }] }),
        ...(more.conditions !== undefined && { conditions: more.conditions }),
      },
    });
    return this;
  }

  start(): this {
    this.inventory.requestListing(this.clock.monotonic(), "refresh");
    this.#running = this.run(this.#session.signal);
    return this;
  }

  /** Another leadership session begins, after a session of this process or of another one. */
  async handOver(
    from: "another process" | "this process" = "another process",
    formerLeaders = this.#formerLeaders + 1,
  ): Promise<void> {
    this.#session.abort(new Error("The leadership session is over."));
    if (from === "another process") this.#formerLeaders = formerLeaders;
    await this.#running;
    this.#session = new AbortController();
    this.start();
  }

  /** Runs until everything that existed at the start is reconciled. */
  async settle(): Promise<this> {
    await this.start().pass(20);
    return this;
  }

  /** Starts nothing new and completes the work in progress. */
  drain(): void {
    this.#session.abort(new Draining("The test is about to be over.", new AbortController().signal));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("The test is over."));
    this.#session.abort(this.#stop.signal.reason);
    await this.#running;
  }

  pass(amountInSeconds: number): Promise<void> {
    return this.clock.advance(seconds(amountInSeconds));
  }

  conditionOf(name: string): Condition | undefined {
    return this.nodes.node(name).status.conditions?.find(({ type }) => type === "NetworkUnavailable");
  }

  /** The condition, for example "False RouteCreated". */
  network(name: string): string | undefined {
    const condition = this.conditionOf(name);
    return condition && `${condition.status} ${condition.reason}`;
  }

  reasons(node: string): readonly string[] {
    return this.reported.flatMap((reported) => (reported.node === node ? [reported.reason] : []));
  }

  journal(target: JournalEntry["target"]): readonly string[] {
    return this.nodes.journal
      .entries()
      .flatMap((entry) =>
        entry.target === target ? [`${entry.outcome}: ${entry.action} (${entry.object})`] : [],
      );
  }
}
