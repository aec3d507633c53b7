// Which clusters the marks of load balancers name, and how a mark is moved to this cluster after its name has changed. A mark moves only
// if all its owners are Services of this cluster: their uids are the proof, not the name. A copy of a cluster has the same uids, so a
// person must know which one is the original.

import { milliseconds, minutes, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { countOf } from "../../core/text.ts";
import { keyOf } from "../../kube/objects.ts";
import { sleep } from "../../platform/clock.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { Operator } from "../operator.ts";
import type { ClusterState } from "./cluster-state.ts";
import { applySteps } from "./delete-balancer.ts";
import { listCloud, readsLagOf } from "./list-cloud.ts";
import { OperatorAccess } from "./operator-access.ts";

export interface MarkedBalancer {
  readonly name: string;
  readonly cluster: string;
  readonly owners: readonly string[];
  /** The Services of this cluster that it serves, as namespace/name; undefined if it serves another one. */
  readonly services: readonly string[] | undefined;
}

export interface MarksSurvey {
  readonly cluster: string;
  readonly apiServer: string;
  readonly balancers: readonly MarkedBalancer[];
  /** What could not be listed, and why. */
  readonly problems: readonly string[];
  /** Why marks cannot be moved here; undefined if they can. */
  readonly cannotMove: string | undefined;
}

interface Found extends MarkedBalancer {
  readonly observed: ObservedLoadBalancer;
}

interface FoundSurvey extends MarksSurvey {
  readonly balancers: readonly Found[];
}

export interface Moved {
  readonly moved: readonly string[];
  readonly failed: readonly { readonly name: string; readonly why: string }[];
}

/** After the last step, listings may still show the former mark for a while. */
const maxListings = 3;

export class Marks {
  readonly #operator: Operator;
  readonly #access: OperatorAccess;
  /** The cluster as it was without a leader. */
  #unled: ClusterState | undefined;

  constructor(operator: Operator) {
    this.#operator = operator;
    this.#access = new OperatorAccess(operator);
  }

  /** Changes nothing. */
  async survey(): Promise<MarksSurvey> {
    const survey = await this.#survey(this.#access.cloud("read"));
    return { ...survey, balancers: survey.balancers.map(({ observed: _, ...shown }) => shown) };
  }

  /** The replica that leads; undefined if none does. */
  async leader(): Promise<string | undefined> {
    this.#unled = await this.#access.cluster();
    return this.#access.leader(this.#unled);
  }

  /**
   * Lists again, and moves what was confirmed and still has the mark of `from` and Services of this cluster. Ends when a manager
   * begins to lead.
   */
  async move(
    confirmed: readonly MarkedBalancer[],
    from: string,
    progress: (text: string) => void,
  ): Promise<Moved> {
    const { settings, platform } = this.#operator;
    const { clock } = platform;
    const cloud = this.#access.cloud("change");
    const { loadBalancers, pending } = cloud;
    if (loadBalancers?.moveMark === undefined) return { moved: [], failed: [] };
    const end = clock.monotonic() + (settings.flags.timeout ?? minutes(10));
    const deps = { balancers: loadBalancers, pending, clock, end, progress };
    const errors = new Map<string, string>();
    const names = new Set(confirmed.map(({ name }) => name));
    const open = movable(await this.#survey(cloud), from).filter(({ name }) => names.has(name));
    for (const { name, observed } of open) {
      try {
        const leader = this.#unled && (await this.#access.newLeader(this.#unled));
        if (leader !== undefined) {
          errors.set(name, `the manager ${leader} has begun to lead. Stop it, and run the command again`);
          continue;
        }
        await applySteps(deps, loadBalancers.moveMark(observed), this.#access.call);
      } catch (error) {
        this.#access.call.signal.throwIfAborted();
        errors.set(name, messageOf(error));
      }
    }
    const left = await this.#leftAfter(cloud, from, names);
    const moved = open.flatMap(({ name }) => (left.has(name) ? [] : name));
    const failed = [...left].map((name) => ({
      name,
      why: errors.get(name) ?? "listings still show the former mark; run the command again",
    }));
    return { moved, failed };
  }

  async #leftAfter(cloud: AnyCloud, from: string, names: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const { clock } = this.#operator.platform;
    const delay = milliseconds(Math.max(seconds(1), readsLagOf(cloud) ?? 0));
    for (let listing = 1; ; listing += 1) {
      const survey = await this.#survey(cloud);
      if (survey.problems.length > 0) throw new Error(survey.problems.join(" "));
      const left = movable(survey, from).filter(({ name }) => names.has(name));
      if (left.length === 0 || listing === maxListings) return new Set(left.map(({ name }) => name));
      await sleep(clock, delay, this.#access.call.signal);
    }
  }

  async #survey(cloud: AnyCloud): Promise<FoundSurvey> {
    const { settings, platform } = this.#operator;
    const own = settings.flags["cluster-name"];
    const state = await this.#access.cluster();
    if (state.kind !== "read")
      throw new Error(
        `The API server did not answer, so it is not known which Services exist (${state.why}). Set --kubeconfig.`,
      );
    const keys = new Map(state.services.map(({ metadata }) => [String(metadata.uid), keyOf(metadata)]));
    const { loadBalancers } = cloud;
    const { balancers, problems } = await listCloud({ loadBalancers }, platform.clock, this.#access.call);
    const found = balancers.flatMap((observed): readonly Found[] => {
      const { group, name = group, owners, ownership, cluster, clusterUID } = observed;
      if (ownership === "unmarked" || observed.marksNameCluster === false) return [];
      const services = owners.flatMap((uid) => keys.get(uid) ?? []);
      const isOwn = services.length > 0 && services.length === owners.length;
      const named = cluster === own && clusterUID !== undefined ? `${own} (uid ${clusterUID})` : cluster;
      const marked = ownership === "ours" ? own : (named ?? "another cluster");
      return [{ name, cluster: marked, owners, services: isOwn ? services : undefined, observed }];
    });
    return { cluster: own, apiServer: state.origin, balancers: found, problems, cannotMove: whyNot(cloud) };
  }
}

function whyNot({ loadBalancers }: AnyCloud): string | undefined {
  if (loadBalancers === undefined) return "This cloud has no load balancers.";
  if (loadBalancers.marksNameCluster === false)
    return "In this cloud, marks name only the Service, so a different --cluster-name changes nothing.";
  return loadBalancers.moveMark === undefined
    ? "This provider cannot move marks. Change them in the cloud."
    : undefined;
}

/** What can be moved from this cluster name: foreign load balancers whose owners are all Services of this cluster. */
export function movable<M extends MarkedBalancer>(
  { balancers, cluster: own }: { readonly balancers: readonly M[]; readonly cluster: string },
  from: string,
): readonly M[] {
  return balancers.filter(
    ({ cluster, services }) => cluster === from && from !== own && services !== undefined,
  );
}

/** `commandLine`: how to run the command with this cluster name. */
export function marksText(survey: MarksSurvey, commandLine: string): string {
  const { cluster: own, balancers, problems, cannotMove } = survey;
  const names = [...new Set([own, ...balancers.map(({ cluster }) => cluster)])];
  const rows = names.map((name) => {
    const marked = balancers.filter(({ cluster }) => cluster === name);
    const here = marked.filter(({ services }) => services !== undefined).length;
    const current = name === own ? " (--cluster-name)" : "";
    return `  ${name}${current}: ${countOf(marked.length, "load balancer")}, ${here} of Services that exist here`;
  });
  const moves = names.flatMap((name) => {
    const found = movable(survey, name);
    const shown = name.includes(" ") ? `'${name}'` : name;
    return found.length === 0
      ? []
      : [
          "",
          `Services of this cluster own these, but ${name} is in the mark:`,
          "",
          ...found.map((one) => `  ${one.name}  ${one.services?.join(", ")}`),
          "",
          cannotMove ??
            `If this cluster was renamed from ${name} to ${own}: ${commandLine} --move-from=${shown}\nNot if it is a copy of a cluster that still runs, such as a restored backup: the Services of both have the same uids.`,
        ];
  });
  const limits = balancers.length === 0 && cannotMove !== undefined ? ["", cannotMove] : [];
  return [
    `Compared with the Services at ${survey.apiServer}. Marks name these clusters:`,
    "",
    ...rows,
    ...moves,
    ...limits,
    ...problems.map((text) => `\n${text}`),
    "",
  ].join("\n");
}
