// Deletes the confirmed objects in rounds: each round rereads the cluster and the cloud, so that objects in use stay. A round may
// take minutes, so the cluster is reread before each part of it.

import { callOf, cloudOf, type Operator } from "../../app/operator.ts";
import type { RouteTable } from "../../cloud/ideal-route-tables.ts";
import { needsLookup } from "../../cloud/inventory/balancer-observation.ts";
import { podRangesOf } from "../../controllers/node-facts.ts";
import { type ApplyContext, applyPlan } from "../../controllers/route/apply/apply.ts";
import type { ChangeResult } from "../../controllers/route/apply/open-changes.ts";
import { routeDefaults } from "../../controllers/route/deps.ts";
import { type Cidr, type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { inBatches } from "../../core/in-batches.ts";
import { messageIn } from "../../core/problem.ts";
import { sleep } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { Wait } from "../../provider/plan.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { applyAndWait } from "./apply-and-wait.ts";
import { assertUnchanged, type ClusterState, readCluster } from "./cluster-state.ts";
import {
  type Leftover,
  type LeftoverBalancer,
  type LeftoverSelection,
  leftoverOf,
  leftRouteKey,
} from "./leftovers.ts";
import { type CleanupSurvey, readsLagOf, takeSurvey } from "./survey.ts";

export interface RemovalOptions {
  readonly operator: Operator;
  readonly selection: LeftoverSelection;
  /** The cluster as it was when the leftovers were listed. */
  readonly before: ClusterState;
  /** The objects that were listed and then confirmed. */
  readonly confirmed: readonly Leftover[];
  /** Reports progress. */
  readonly progress: (text: string) => void;
}

export interface Removal {
  /** Remaining objects, with the reason. */
  readonly failed: readonly { readonly leftover: Leftover; readonly why: string }[];
  readonly problems: readonly string[];
}

/** The result of `LoadBalancers.prefetch`, read once for all load balancers of a round. */
type Prefetched = () => Promise<unknown>;

const shortest = seconds(1);
const longest = seconds(30);
/** The number of errors in a row after which an object is given up. */
const maxFailures = 5;
/** The number of rounds in which one object may be changed and still exist. */
const maxRounds = 60;
const concurrent = 8;

/** The pod ranges of the Nodes. */
const rangesIn = ({ nodes }: ClusterState): ReadonlySet<Cidr> => new Set(nodes.flatMap(podRangesOf));

export class LeftoverRemoval {
  readonly #options: RemovalOptions;
  readonly #cloud: AnyCloud;
  readonly #call: Call;
  readonly #confirmed: ReadonlySet<string>;
  /** Monotonic. */
  readonly #end: number;
  readonly #errors = new Map<string, { readonly count: number; readonly why: string }>();

  constructor(options: RemovalOptions) {
    const { operator, before, confirmed } = options;
    const { settings, platform, signal } = operator;
    this.#options = options;
    this.#cloud = cloudOf(operator, "change", before.uid);
    this.#call = callOf(signal);
    this.#confirmed = new Set(confirmed.map(({ key }) => key));
    this.#end = platform.clock.monotonic() + (settings.flags.timeout ?? minutes(10));
  }

  /**
   * Ends when two complete listings show no leftovers, when the remaining objects are given up, or when the time is over. Throws
   * if a manager begins to lead.
   */
  async run(): Promise<Removal> {
    const { operator, selection } = this.#options;
    const { clock } = operator.platform;
    const end = this.#end;
    const lag = readsLagOf(this.#cloud) ?? shortest;
    let clean = 0;
    let last: Removal = { failed: [], problems: [] };
    for (let round = 0; round < maxRounds && clock.monotonic() < end; round += 1) {
      const survey = await takeSurvey(operator, this.#cloud, await this.#readCluster(), selection);
      const left = survey.leftovers.filter(({ key, kept }) => this.#confirmed.has(key) && kept === undefined);
      last = { failed: this.#failed(left), problems: survey.problems };
      const open = left.filter(({ key }) => !this.#isGivenUp(key));
      clean = open.length === 0 && survey.problems.length === 0 ? clean + 1 : 0;
      // A single listing without leftovers may be incomplete, or older than the last step.
      if (clean === 2) return last;
      const delay = clean === 1 ? lag : await this.#round(survey, open);
      await sleep(
        clock,
        milliseconds(Math.min(delay, Math.max(0, end - clock.monotonic()))),
        operator.signal,
      );
    }
    return last;
  }

  /** Throws if deletions are no longer allowed. */
  async #readCluster(): Promise<ClusterState> {
    const { operator, before } = this.#options;
    const cluster = await readCluster(operator);
    assertUnchanged(before, cluster);
    return cluster;
  }

  #isGivenUp(key: string): boolean {
    return (this.#errors.get(key)?.count ?? 0) >= maxFailures;
  }

  #failed(left: readonly Leftover[]): Removal["failed"] {
    return left.map((leftover) => ({
      leftover,
      why: this.#errors.get(leftover.key)?.why ?? "it is still there; run cleanup again",
    }));
  }

  /** Returns when to check again. */
  async #round(survey: CleanupSurvey, open: readonly Leftover[]): Promise<Milliseconds> {
    const delays: number[] = [shortest];
    let fetched: Promise<unknown> | undefined;
    const prefetched: Prefetched = () => {
      fetched ??= this.#cloud.loadBalancers?.prefetch?.("", this.#call) ?? Promise.resolve();
      return fetched;
    };
    const balancers = open.flatMap((one) => (one.what === "load balancer" ? one : []));
    for (const batch of inBatches(balancers, concurrent)) {
      const now = { ...survey, cluster: await this.#readCluster() };
      delays.push(...(await Promise.all(batch.map((one) => this.#delete(now, one, prefetched)))));
    }
    const keys = new Set(open.map(({ key }) => key));
    const present = open.length > balancers.length ? await this.#readCluster() : survey.cluster;
    const taken = rangesIn(present).difference(rangesIn(survey.cluster));
    for (const { table, plan, listing } of survey.tables) {
      const keyOf = (route: Parameters<typeof leftRouteKey>[1]) => leftRouteKey(table.name, route);
      try {
        // Routes that appeared later are kept, and so are routes of Nodes that appeared later.
        const remove = plan.remove.filter((route) => keys.has(keyOf(route)) && !taken.has(route.destination));
        const confirmed = { ...plan, remove };
        const results: ChangeResult[] = [];
        await applyPlan(confirmed, this.#routeContext(table, listing.routes.length), this.#call, results);
        for (const { change, outcome } of results) {
          if (change.do !== "remove") continue;
          const name = `route ${change.route.destination}`;
          if (outcome.kind === "failed") delays.push(this.#fail(keyOf(change.route), name, outcome.error));
          else if (outcome.kind === "pending") delays.push(outcome.checkAfter);
          if (outcome.kind === "done") this.#options.progress(`${name}: deleted`);
        }
      } catch (error) {
        this.#call.signal.throwIfAborted();
        for (const one of open)
          if (one.what === "route") delays.push(this.#fail(one.key, `route ${one.name}`, error));
      }
    }
    return milliseconds(Math.min(longest, Math.max(...delays)));
  }

  #routeContext(routes: RouteTable, listed: number): ApplyContext {
    const { clock } = this.#options.operator.platform;
    const send: ApplyContext["send"] = (_, request) => request();
    return {
      routes,
      send,
      clock,
      settings: routeDefaults,
      open: { of: () => undefined, isBusy: false },
      listed,
    };
  }

  /** Returns when to check again. */
  async #delete(survey: CleanupSurvey, leftover: LeftoverBalancer, prefetched: Prefetched): Promise<number> {
    const { key, name } = leftover;
    try {
      const wait = await this.#takeSteps(survey, leftover, prefetched);
      this.#errors.delete(key);
      return wait;
    } catch (error) {
      this.#call.signal.throwIfAborted();
      return this.#fail(key, `load balancer ${name}`, error);
    }
  }

  /**
   * Takes the next steps of the provider's plan for a load balancer that no Service needs. Throws the cloud's rejections
   * and the plan's errors.
   */
  async #takeSteps(
    { cluster }: CleanupSurvey,
    { balancer, name }: LeftoverBalancer,
    prefetched: Prefetched,
  ): Promise<Milliseconds> {
    const { operator, selection } = this.#options;
    const { provider, platform, settings } = operator;
    const { loadBalancers: balancers, pending } = this.#cloud;
    if (balancers === undefined) return shortest;
    const progress = (text: string): void => this.#options.progress(`load balancer ${name}: ${text}`);
    const waitFor = ({ checkAfter, waitingFor }: Wait): Milliseconds => {
      progress(`waiting for ${waitingFor}`);
      return checkAfter;
    };
    const observed = needsLookup(balancer, undefined)
      ? await balancers.observe?.(undefined, balancer, this.#call)
      : balancer;
    if (observed === undefined) return shortest;
    // A lookup may show more than the listing, so check again whether the load balancer is a leftover.
    const clusterName = settings.flags["cluster-name"];
    const found = leftoverOf(observed, { provider, clusterName, cloud: this.#cloud, cluster, selection });
    if (found === undefined || found.kept !== undefined) return shortest;
    const { steps, wait, problems = [] } = balancers.plan(undefined, observed, await prefetched());
    const error = problems.find(({ severity }) => severity === "error");
    if (error !== undefined) throw new Error(messageIn(error));
    for (const problem of problems) progress(messageIn(problem));
    const deps = { balancers, pending, clock: platform.clock, end: this.#end, progress };
    if (steps.length > 0) return (await applyAndWait(deps, steps, this.#call)) ?? shortest;
    if (wait !== undefined) return waitFor(wait);
    throw new Error("the provider plans no step to delete it. Delete it in the cloud, and file a bug");
  }

  /** Returns when to try again. */
  #fail(key: string, name: string, error: unknown): number {
    const count = (this.#errors.get(key)?.count ?? 0) + 1;
    const why = messageOf(error);
    this.#errors.set(key, { count, why });
    const isLast = count >= maxFailures;
    this.#options.progress(
      `${name}: ${why} (attempt ${count} of ${maxFailures}${isLast ? ", given up" : ", it is tried again"})`,
    );
    return shortest * 2 ** count;
  }
}
