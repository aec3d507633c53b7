// Deletes what was confirmed, in rounds: each reads the cluster and the cloud again, so that what came into use stays. A round may take
// minutes, so the cluster is read again before each part of it.

import type { RouteTable } from "../../cloud/ideal-route-tables.ts";
import { podRangesOf } from "../../controllers/node-facts.ts";
import { type ApplyContext, applyPlan } from "../../controllers/route/apply/apply.ts";
import type { ChangeResult } from "../../controllers/route/apply/open-changes.ts";
import { routeDefaults } from "../../controllers/route/deps.ts";
import type { Cidr } from "../../core/brand.ts";
import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { inBatches } from "../../core/in-batches.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { ClusterState } from "./cluster-state.ts";
import { type DeletionDeps, deleteBalancer } from "./delete-balancer.ts";
import { routeKey, type Survey } from "./left-objects.ts";
import type { Leftover, LeftoverBalancer } from "./leftovers.ts";
import { readsLagOf } from "./list-cloud.ts";

export interface RemovalOptions {
  readonly cloud: AnyCloud;
  readonly clock: Clock;
  readonly timeout: Milliseconds;
  /** Reads cluster and cloud. Throws if nothing may be deleted any more, such as when a manager leads. */
  readonly survey: () => Promise<Survey & { readonly cluster: ClusterState }>;
  /** Reads only the cluster, and throws as `survey` does. */
  readonly recheck: () => Promise<ClusterState>;
  readonly mayDelete: (balancer: LeftoverBalancer["balancer"], cluster: ClusterState) => boolean;
  /** Reports what is done now. */
  readonly progress: (text: string) => void;
}

export interface Removal {
  /** What is still there, with the reason. */
  readonly failed: readonly { readonly leftover: Leftover; readonly why: string }[];
  readonly problems: readonly string[];
}

const shortest = seconds(1);
const longest = seconds(30);
/** The number of errors in a row after which an object is given up. */
const maxFailures = 5;
/** The number of rounds in which one object may be changed and still exist. */
const maxRounds = 60;
const concurrent = 8;

/** The pod ranges of the Nodes. */
function rangesIn(cluster: ClusterState): ReadonlySet<Cidr> {
  return new Set(cluster.kind === "read" ? cluster.nodes.flatMap(podRangesOf) : []);
}

export class LeftoverRemoval {
  readonly #options: RemovalOptions;
  readonly #confirmed: ReadonlyMap<string, Leftover>;
  readonly #errors = new Map<string, { readonly count: number; readonly why: string }>();

  constructor(options: RemovalOptions, confirmed: readonly Leftover[]) {
    this.#options = options;
    this.#confirmed = new Map(confirmed.map((leftover) => [leftover.key, leftover]));
  }

  /** Ends when two complete listings show no leftovers, when the remaining ones are given up, or when the time is over. */
  async run(call: Call): Promise<Removal> {
    const { clock, timeout, survey: take, cloud } = this.#options;
    const end = clock.monotonic() + timeout;
    const lag = readsLagOf(cloud) ?? shortest;
    let clean = 0;
    let last: Removal = { failed: [], problems: [] };
    for (let round = 0; round < maxRounds && clock.monotonic() < end; round += 1) {
      const survey = await take();
      const left = survey.leftovers.filter(({ key, kept }) => this.#confirmed.has(key) && kept === undefined);
      last = { failed: this.#failed(left), problems: survey.problems };
      const open = left.filter(({ key }) => !this.#isGivenUp(key));
      clean = open.length === 0 && survey.problems.length === 0 ? clean + 1 : 0;
      // A single listing that shows nothing may be short, or older than the last step.
      if (clean === 2) return last;
      const delay = clean === 1 ? lag : await this.#round(survey, open, end, call);
      await sleep(clock, milliseconds(Math.min(delay, Math.max(0, end - clock.monotonic()))), call.signal);
    }
    return last;
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
  async #round(
    survey: Survey & { readonly cluster: ClusterState },
    open: readonly Leftover[],
    end: number,
    call: Call,
  ): Promise<Milliseconds> {
    const delays: number[] = [shortest];
    let fetched: Promise<unknown> | undefined;
    const prefetched = (): Promise<unknown> => {
      fetched ??= this.#options.cloud.loadBalancers?.prefetch?.([], call) ?? Promise.resolve();
      return fetched;
    };
    const balancers = open.flatMap((one) => (one.what === "load balancer" ? one : []));
    for (const batch of inBatches(balancers, concurrent)) {
      const cluster = await this.#options.recheck();
      delays.push(
        ...(await Promise.all(
          batch.map((one) => this.#delete({ ...survey, cluster }, one, { end, prefetched }, call)),
        )),
      );
    }
    const keys = new Set(open.map(({ key }) => key));
    const present = open.length > balancers.length ? await this.#options.recheck() : survey.cluster;
    const taken = rangesIn(present).difference(rangesIn(survey.cluster));
    for (const { table, plan, listing } of survey.tables) {
      const keyOf = (route: Parameters<typeof routeKey>[1]) => routeKey(table.name, route);
      try {
        // Routes that appeared later stay, and those of Nodes that did.
        const remove = plan.remove.filter((route) => keys.has(keyOf(route)) && !taken.has(route.destination));
        const confirmed = { ...plan, remove };
        const results: ChangeResult[] = [];
        await applyPlan(confirmed, this.#routeContext(table, listing.routes.length), call, results);
        for (const { change, outcome } of results) {
          if (change.do !== "remove") continue;
          const name = `route ${change.route.destination}`;
          if (outcome.kind === "failed") delays.push(this.#fail(keyOf(change.route), name, outcome.error));
          else if (outcome.kind === "pending") delays.push(outcome.checkAfter);
          if (outcome.kind === "done") this.#options.progress(`${name}: deleted`);
        }
      } catch (error) {
        call.signal.throwIfAborted();
        for (const one of open)
          if (one.what === "route") delays.push(this.#fail(one.key, `route ${one.name}`, error));
      }
    }
    return milliseconds(Math.min(longest, Math.max(...delays)));
  }

  #routeContext(routes: RouteTable, listed: number): ApplyContext {
    const { clock } = this.#options;
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

  async #delete(
    survey: Survey & { readonly cluster: ClusterState },
    leftover: LeftoverBalancer,
    { end, prefetched }: Pick<DeletionDeps, "end" | "prefetched">,
    call: Call,
  ): Promise<number> {
    const { cloud, clock, mayDelete, progress } = this.#options;
    const { loadBalancers: balancers, pending } = cloud;
    if (balancers === undefined) return shortest;
    const { balancer, key, name } = leftover;
    const duplicates = survey.leftovers.flatMap((other) =>
      other.what === "load balancer" && other.key !== key && other.balancer.group === balancer.group
        ? other.balancer
        : [],
    );
    const deps = {
      ...{ balancers, pending, clock, end, prefetched },
      progress: (text: string) => progress(`load balancer ${name}: ${text}`),
    };
    try {
      const isAllowed = (observed: typeof balancer) => mayDelete(observed, survey.cluster);
      const wait = await deleteBalancer(deps, balancer, duplicates, isAllowed, call);
      this.#errors.delete(key);
      return wait?.checkAfter ?? shortest;
    } catch (error) {
      call.signal.throwIfAborted();
      return this.#fail(key, `load balancer ${name}`, error);
    }
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
