// The state of the route controller across leadership sessions: observed deletions, possible effects of its requests, open
// operations, published findings, and held objects.

import type { RouteChange } from "../../cloud/own-route-changes.ts";
import type { Cidr } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { type FormerLeaders, noticesOtherLeaders } from "../former-leaders.ts";
import { Board, ObjectBoard } from "../kernel/board.ts";
import { Creations } from "../kernel/creations.ts";
import { Ledger, Ledgers } from "../kernel/ledger.ts";
import { HoldMemory } from "../kernel/removal-limit.ts";
import { podRangesOf } from "../node-facts.ts";
import { SeenDeletions, type SeenDeletionsDeps } from "./seen-deletions.ts";
import type { TableName } from "./tables.ts";

/** A change that the cloud has accepted and not completed. */
export interface OpenOperation {
  readonly change: RouteChange;
  readonly id: string;
  /** Since when the operation is polled (monotonic). */
  readonly since: number;
}

export type ProblemsByNode = ReadonlyMap<string, readonly Problem[]>;

/** Findings about a whole table. */
export type TableTopic = "table" | "listing" | "sync" | "hold";
/** Findings about a Node. */
export type NodeTopic = "routes" | "instance";

/** Identifies the route of a Node, because another Node may reuse the name and the range. */
export const routeKey = (destination: Cidr, uid: string): string => `${destination} for ${uid}`;

export const routeKeysOf = (node: Node): readonly string[] =>
  podRangesOf(node).map((range) => routeKey(range, node.metadata.uid));

/** The keys of the routes that an existing Node gained with this change. */
export function addedKeys({ before, after }: Change<Node>): readonly string[] {
  if (before === undefined || after?.metadata.uid !== before.metadata.uid) return [];
  if (before.spec.podCIDRs === after.spec.podCIDRs && before.spec.podCIDR === after.spec.podCIDR) return [];
  const had = new Set(routeKeysOf(before));
  return routeKeysOf(after).filter((key) => !had.has(key));
}

/** The route keys of a Node that is gone or was replaced. */
export function removedKeys({ before, after }: Change<Node>): readonly string[] {
  return before === undefined || after?.metadata.uid === before.metadata.uid ? [] : routeKeysOf(before);
}

export class TableHistory {
  /** By `routeKey`. Without a ledger, nothing proves that a route ever existed. */
  readonly ledgers = new Ledgers();
  /**
   * When the last request that may have created a route to this destination was sent (monotonic). It may take effect later,
   * whatever happens to its Node.
   */
  readonly uncertain = new Map<Cidr, number>();
  readonly creations = new Creations();
  /** When a route was last removed (monotonic). A removal may have had no effect, whatever the cloud answered. */
  removedAt = Number.NEGATIVE_INFINITY;
  /** By change key. */
  readonly operations = new Map<string, OpenOperation>();
  readonly board = new ObjectBoard<TableTopic>();
  readonly limit: HoldMemory = new HoldMemory();
  /** The ids of changes that the mass limit holds, or that are held because listings do not show created routes. */
  held: ReadonlySet<string> = new Set();
  /**
   * The routes that the last doubted listing lacked, including routes of Nodes that were deleted since, or whose range another
   * Node has now.
   */
  doubted: ReadonlySet<Cidr> = new Set();
  /** The changes of the last survey that follow from an absence, by id. */
  absent: ReadonlySet<string> = new Set();

  /**
   * Another process has led since the last session, and may have requested routes for all current Nodes. This process's earlier
   * changes and holds have no meaning.
   */
  noteFormerLeader(nodes: readonly Node[], now: number): void {
    for (const key of nodes.flatMap(routeKeysOf)) this.ledgers.of(key).expect("possible", now);
    this.operations.clear();
    this.limit.forget();
    this.held = new Set();
    this.doubted = new Set();
  }
}

export interface RouteHistoryDeps extends SeenDeletionsDeps {
  readonly clock: Clock;
  /** The cloud may still create routes that former leaders requested. */
  readonly formerLeaders: FormerLeaders;
}

export class RouteHistory {
  readonly deletions: SeenDeletions;
  /**
   * The table of each of this process's removals, by id. The limit applies to each table separately, but the Lease stores the
   * removals of all tables together: removals of an earlier process count for every table.
   */
  readonly tableOfRemoval = new Map<string, TableName>();
  readonly nodeBoard = new Board<NodeTopic>();
  /** The last reported Node problems of each table. */
  readonly nodeProblems = new Map<TableName, ProblemsByNode>();
  readonly #deps: RouteHistoryDeps;
  readonly #tables = new Map<TableName, TableHistory>();
  readonly #hasOtherLed: () => boolean;

  /** Follows the Nodes for the life of the process. */
  constructor(deps: RouteHistoryDeps) {
    this.#deps = deps;
    this.#hasOtherLed = noticesOtherLeaders(deps.formerLeaders);
    this.deletions = new SeenDeletions(deps);
    deps.nodes.subscribe((change) => {
      for (const { ledgers } of this.#tables.values()) {
        for (const key of removedKeys(change)) ledgers.delete(key);
        // An existing Node has got another range, which its condition does not include.
        for (const key of addedKeys(change)) ledgers.set(key, new Ledger());
      }
    });
  }

  ofTable(name: TableName): TableHistory {
    const known = this.#tables.get(name) ?? new TableHistory();
    this.#tables.set(name, known);
    return known;
  }

  beginSession(): void {
    const { nodes, clock, removals } = this.#deps;
    for (const { ledgers } of this.#tables.values()) for (const ledger of ledgers.values()) ledger.restart();
    if (!this.#hasOtherLed()) return;
    for (const table of this.#tables.values()) {
      for (const id of table.held) removals.endHold("routes", id);
      table.noteFormerLeader(nodes.list(), clock.monotonic());
    }
  }
}
