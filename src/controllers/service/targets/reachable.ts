// Separates the Nodes that a load balancer cannot reach, such as those in another network, and describes them in one problem.
// Pure.

import type { NodeName } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { ownPrefix } from "../../well-known.ts";
import type { Refusal } from "../state/refused-targets.ts";

/** True, or why the load balancer cannot reach the target. */
export type Reach = (target: BalancerTarget) => true | string;

export interface Unreachable {
  readonly target: BalancerTarget;
  readonly cause: string;
}

export interface ReachableTargets {
  readonly reachable: readonly BalancerTarget[];
  readonly unreachable: readonly Unreachable[];
}

/** A problem whose text may change, such as a count, without being reported again. */
export interface LastingProblem extends Problem {
  /** It is reported again when this changes. */
  readonly identity: string;
}

/** Returns the same list if all are reachable, because most Services share it. */
export function separateReachable(
  targets: readonly BalancerTarget[],
  reach: Reach | undefined,
): ReachableTargets {
  if (reach === undefined) return { reachable: targets, unreachable: [] };
  const reachable: BalancerTarget[] = [];
  const unreachable: Unreachable[] = [];
  for (const target of targets) {
    const answer = reach(target);
    if (answer === true) reachable.push(target);
    else unreachable.push({ target, cause: answer });
  }
  return { reachable: unreachable.length === 0 ? targets : reachable, unreachable };
}

const maxNames = 100;

/** The targets that the cloud has refused. It is reported again only for another Node. */
export function refusedTargets(
  targets: readonly BalancerTarget[],
  refusals: readonly (readonly [NodeName, Pick<Refusal, "text">])[],
): readonly Problem[] {
  const refused = refusals.filter(([name]) => targets.some(({ node }) => node === name));
  if (refused.length === 0) return [];
  const texts = refused.map(([name, { text }]) => `${name} (${text})`);
  const problem: LastingProblem = {
    severity: "warning",
    reason: "TargetRefused",
    text: `The cloud refuses ${refused.length} of ${targets.length} targets: ${shortList(texts)}. They get no traffic from the load balancer. They are tried again from time to time, and when the Node or the Service changes.`,
    identity: refused
      .map(([name]) => name)
      .toSorted()
      .join(),
  };
  return [problem];
}

/** One problem for all of them. It is reported again only for a new cause, because Nodes come and go. */
export function unreachableTargets(unreachable: readonly Unreachable[], count: number): readonly Problem[] {
  // Draining targets leave anyway, and a Node without a known machine has just joined or has an event that says so.
  const reported = unreachable.filter(({ target }) => !target.draining && target.machine !== undefined);
  if (reported.length === 0) return [];
  const byCause = Map.groupBy(reported, ({ cause }) => cause);
  const texts = [...byCause].map(([cause, members]) => {
    const names = shortList(
      members.map(({ target }) => target.node),
      maxNames,
    );
    return `${cause} (${names})`;
  });
  const problem: LastingProblem = {
    severity: "warning",
    reason: "TargetsUnreachable",
    text: `${reported.length} of ${count} Nodes cannot be targets of this load balancer: ${shortList(texts)}. They get no traffic from it. Correct these Nodes or the settings of the Service, or select other Nodes with ${ownPrefix}target-selector.`,
    identity: [...byCause.keys()].toSorted().join("\n"),
  };
  return [problem];
}
