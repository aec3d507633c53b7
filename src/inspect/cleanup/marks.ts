// Determines which clusters the marks of load balancers name, and how a mark is moved to this cluster after its name has
// changed. A mark moves only if all its owners are Services of this cluster: their uids are the proof, not the name. A copy of
// a cluster has the same uids, so a person must know which is the original.

import { callOf, cloudOf, type Operator } from "../../app/operator.ts";
import { minutes, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { countOf } from "../../core/text.ts";
import { keyOf } from "../../kube/objects.ts";
import { sleep } from "../../platform/clock.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { applyAndWait } from "./apply-and-wait.ts";
import { type ClusterState, newLeaderOf, readCluster } from "./cluster-state.ts";
import { listCloud } from "./survey.ts";

export interface MarkedBalancer {
  readonly name: string;
  readonly cluster: string;
  readonly owners: readonly string[];
  /** The Services of this cluster that the load balancer serves, as namespace/name; undefined if it serves another cluster. */
  readonly services: readonly string[] | undefined;
}

interface Found extends MarkedBalancer {
  readonly observed: ObservedLoadBalancer;
}

type FoundSurvey = Awaited<ReturnType<typeof findMarks>>;
type MarksSurvey = Awaited<ReturnType<typeof surveyMarks>>;

export interface Moved {
  readonly moved: readonly string[];
  readonly failed: readonly { readonly name: string; readonly why: string }[];
}

/** After the last step, listings may still show the former mark for a while. */
const maxListings = 3;

/** Lists the marks without changing anything. */
export async function surveyMarks(operator: Operator) {
  const survey = await findMarks(operator);
  const balancers = survey.balancers.map(({ observed: _, ...shown }): MarkedBalancer => shown);
  return { ...survey, balancers };
}

/**
 * Lists again, and moves the mark of each confirmed load balancer that still has the mark of `from` and owners in this cluster.
 * Stops when a manager begins to lead. `unled`: the cluster when it had no leader.
 */
export async function moveMarks(
  operator: Operator,
  unled: ClusterState,
  confirmed: readonly MarkedBalancer[],
  from: string,
  progress: (text: string) => void,
): Promise<Moved> {
  const { settings, platform, signal } = operator;
  const { clock } = platform;
  const cloud = cloudOf(operator, "change", unled.uid);
  const { loadBalancers, pending } = cloud;
  if (loadBalancers?.moveMark === undefined) return { moved: [], failed: [] };
  const end = clock.monotonic() + (settings.flags.timeout ?? minutes(10));
  const deps = { balancers: loadBalancers, pending, clock, end, progress };
  const errors = new Map<string, string>();
  const names = new Set(confirmed.map(({ name }) => name));
  const listed = async (): Promise<FoundSurvey> => {
    const survey = await findMarks(operator, cloud);
    return { ...survey, balancers: movable(survey, from).filter(({ name }) => names.has(name)) };
  };
  const { balancers: open } = await listed();
  for (const { name, observed } of open) {
    try {
      const leader = await newLeaderOf(operator, unled);
      if (leader !== undefined) {
        errors.set(name, `the manager ${leader} has begun to lead. Stop it, and run the command again`);
        continue;
      }
      await applyAndWait(deps, loadBalancers.moveMark(observed), callOf(signal));
    } catch (error) {
      signal.throwIfAborted();
      errors.set(name, messageOf(error));
    }
  }
  const left = new Set<string>();
  for (let listing = 1; listing <= maxListings; listing += 1) {
    if (listing > 1) await sleep(clock, seconds(1), signal);
    const { balancers, problems } = await listed();
    if (problems.length > 0) throw new Error(problems.join(" "));
    left.clear();
    for (const { name } of balancers) left.add(name);
    if (left.size === 0) break;
  }
  const moved = open.flatMap(({ name }) => (left.has(name) ? [] : name));
  const failed = [...left].map((name) => ({
    name,
    why: errors.get(name) ?? "listings still show the former mark; run the command again",
  }));
  return { moved, failed };
}

async function findMarks(operator: Operator, given?: AnyCloud) {
  const { settings, platform, signal } = operator;
  const own = settings.flags["cluster-name"];
  const state = await readCluster(operator);
  if (state.kind !== "read")
    throw new Error(
      `The API server did not answer, so Fairlead does not know which Services exist (${state.why}). Set --kubeconfig.`,
    );
  const keys = new Map(state.services.map(({ metadata }) => [String(metadata.uid), keyOf(metadata)]));
  const cloud = given ?? cloudOf(operator, "read", state.uid);
  const { loadBalancers } = cloud;
  const { balancers, problems } = await listCloud({ loadBalancers }, platform.clock, callOf(signal));
  const found = balancers.flatMap((observed): readonly Found[] => {
    const { name, owners, ownership, cluster, clusterUID } = observed;
    if (ownership === "unmarked" || observed.marksNameCluster === false) return [];
    const services = owners.flatMap((uid) => keys.get(uid) ?? []);
    const isOwn = services.length > 0 && services.length === owners.length;
    const named = cluster === own && clusterUID !== undefined ? `${own} (uid ${clusterUID})` : cluster;
    const marked = ownership === "ours" ? own : (named ?? "another cluster");
    return [{ name, cluster: marked, owners, services: isOwn ? services : undefined, observed }];
  });
  const cannotMove = whyNot(cloud);
  return { cluster: own, apiServer: state.origin, balancers: found, problems, cannotMove };
}

function whyNot({ loadBalancers }: AnyCloud): string | undefined {
  if (loadBalancers === undefined) return "This cloud has no load balancers.";
  if (loadBalancers.marksNameCluster !== undefined)
    return "In this cloud, marks name only the Service, so a different --cluster-name changes nothing.";
  return loadBalancers.moveMark === undefined
    ? "This provider cannot move marks. Change them in the cloud."
    : undefined;
}

/** The marks that can be moved from this cluster name: foreign load balancers whose owners are all Services of this cluster. */
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
