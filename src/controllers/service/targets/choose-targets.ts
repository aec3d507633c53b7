// Chooses the targets of a load balancer from the candidates: first the reachable Nodes, then by policy, then within the cloud's
// limit. If there are too many, it takes a subset spread over the zones and reports that. Pure.

import { hashAfter } from "../../../core/hash.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { BalancerTarget, Reached } from "../../../provider/load-balancers.ts";
import { labelPairs, ownPrefix } from "../../well-known.ts";
import type { NamedSelector, TargetRules } from "../annotations/target-rules.ts";
import type { EndpointPlaces } from "./endpoint-nodes.ts";

export type Reach = (target: BalancerTarget) => Reached;

export interface Unreachable {
  readonly target: BalancerTarget;
  readonly cause: Exclude<Reached, true>;
}

export interface ReachableTargets {
  readonly reachable: readonly BalancerTarget[];
  readonly unreachable: readonly Unreachable[];
}

/** Returns the same list if all targets are reachable, because most Services share the list. */
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

/** A single problem for all unreachable targets. It is reported again only for a new cause, because Nodes come and go. */
function unreachableTargets(unreachable: readonly Unreachable[], count: number): readonly Problem[] {
  // Draining targets are removed anyway, and a Node without a known machine has just joined or has an event about it.
  const reported = unreachable.filter(({ target }) => !target.draining && target.machine !== undefined);
  if (reported.length === 0) return [];
  const byCause = Map.groupBy(reported, ({ cause }) => (typeof cause === "string" ? cause : cause.byDesign));
  const texts = [...byCause].map(([cause, members]) => {
    const names = shortList(
      members.map(({ target }) => target.node),
      maxNames,
    );
    return `${cause} (${names})`;
  });
  const problem: Problem = {
    severity: "warning",
    reason: "TargetsUnreachable",
    text: `${reported.length} of ${count} Nodes cannot be targets of this load balancer: ${shortList(texts)}. They get no traffic from it.`,
    remedy: `Correct these Nodes or the settings of the Service, or select other Nodes with ${ownPrefix}target-selector.`,
    identity: [...byCause.keys()].toSorted().join("\n"),
  };
  return [problem];
}

const ownSelectorKey = `${ownPrefix}target-selector`;
const isStaying = ({ draining }: BalancerTarget): boolean => !draining;

export interface TargetPolicy extends Omit<TargetRules, "drain"> {
  /** The places of the Service's endpoints. While they are unknown (undefined), every Node is a target. */
  readonly endpoints?: EndpointPlaces;
  /** The maximum number of targets that the cloud accepts. */
  readonly cloudLimit?: number;
  /** Whether the load balancer reaches a target. If unset, it reaches all targets. */
  readonly reach?: Reach;
}

export interface ChosenTargets {
  /** In the order of the candidates. */
  readonly targets: readonly BalancerTarget[];
  readonly problems: readonly Problem[];
}

export function chooseTargets(candidates: readonly BalancerTarget[], rules: TargetPolicy): ChosenTargets {
  const { cloudSelector } = rules;
  const selected =
    cloudSelector === undefined
      ? candidates
      : candidates.filter(({ labels }) => cloudSelector.matches(labels));
  const { reachable: targets, unreachable } = separateReachable(selected, rules.reach);
  const matching = targets.filter((target) => isMatching(target, rules));
  const missed = unreachable.filter(
    ({ target, cause }) => isMatching(target, rules) && (typeof cause === "string" || targets.length === 0),
  );
  // Pods return sooner than a cloud adds targets. Without any endpoint, every Node therefore stays a target, subject to health
  // checks.
  const hasEndpoint = rules.policy !== "endpoints" || matching.some(({ draining }) => !draining);
  const wanted = hasEndpoint ? matching : targets;
  const limit = limitOf(rules);
  const { seed = "" } = rules;
  const staying = wanted.filter(isStaying);
  const chosen = new Set(spreadOverZones(staying, limit, seed));
  // Draining targets only get the remaining places, because they must not displace targets that accept connections.
  const room = Math.max(0, limit - chosen.size);
  const leaving = inRendezvousOrder(
    wanted.filter(({ draining }) => draining),
    ({ node }) => node,
    seed,
  );
  for (const target of leaving.slice(0, room)) chosen.add(target);
  return {
    targets: wanted.filter((target) => chosen.has(target)),
    problems: [
      ...withoutSelector(rules),
      ...(missed.length > 0 && targets.length > 0
        ? []
        : nothingLeft(selected.some(isStaying) ? targets : candidates, staying, rules)),
      ...unreachableTargets(missed, staying.length + missed.filter(({ target }) => !target.draining).length),
      ...(hasEndpoint || staying.length === 0 ? [] : [withoutEndpoint(staying.length, rules)]),
      ...limited(staying.length, rules),
    ],
  };
}

function isMatching(
  { node, labels }: BalancerTarget,
  { policy, selector, endpoints }: TargetPolicy,
): boolean {
  if (policy === "selector") return selector?.matches(labels) ?? true;
  return policy !== "endpoints" || (endpoints?.nodes.has(node) ?? true);
}

/**
 * Takes the first target of every zone, then the second of every zone, and so on up to the limit. Within a zone, the hash of the
 * name decides, so that adding or removing a Node changes at most one other target.
 */
function spreadOverZones(
  targets: readonly BalancerTarget[],
  limit: number,
  seed: string,
): readonly BalancerTarget[] {
  if (targets.length <= limit) return targets;
  const zones = new Map<string, BalancerTarget[]>();
  for (const target of inRendezvousOrder(targets, ({ node }) => node, seed)) {
    const zone = target.labels[labelPairs.zone.current] ?? "";
    const members = zones.get(zone);
    if (members === undefined) zones.set(zone, [target]);
    else members.push(target);
  }
  const ordered = [...zones.values()];
  const deepest = Math.max(...ordered.map(({ length }) => length));
  const inTurn: BalancerTarget[] = [];
  for (let rank = 0; rank < deepest && inTurn.length < limit; rank++) {
    for (const members of ordered) inTurn.push(...members.slice(rank, rank + 1));
  }
  return inTurn.slice(0, limit);
}

function withoutSelector({ policy, selector }: TargetPolicy): readonly Problem[] {
  return policy !== "selector" || selector !== undefined
    ? []
    : [
        warning(
          "MissingSelector",
          `${ownPrefix}target-policy is "selector", but ${ownSelectorKey} is not set, so every Node is a target. Set the selector, or remove the policy.`,
        ),
      ];
}

function withoutEndpoint(count: number, { endpoints }: TargetPolicy): Problem {
  if (endpoints?.haveNoNode === true)
    return warning(
      "NoEndpoints",
      `The ready endpoints of this Service name no Node, so all ${count} Nodes are targets.`,
      `If traffic is forwarded on every Node, as for a Gateway of Cilium, set ${ownPrefix}target-policy to "all".`,
    );
  return warning(
    "NoEndpoints",
    `None of the ${count} Nodes has a ready endpoint of this Service. All of them stay targets until one has.`,
  );
}

/** The first message is upstream's, verbatim, because alerts may depend on it. */
function nothingLeft(
  all: readonly BalancerTarget[],
  left: readonly BalancerTarget[],
  { policy, selector, cloudSelector }: TargetPolicy,
): readonly Problem[] {
  if (left.length > 0) return [];
  // Draining targets are not available; upstream does not count them either.
  const available = all.filter(isStaying);
  const count = available.length;
  if (count === 0) {
    return [warning("UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")];
  }
  if (cloudSelector !== undefined && !available.some(({ labels }) => cloudSelector.matches(labels)))
    return [noMatchingNode(`${count} Nodes`, cloudSelector)];
  if (policy !== "selector") return [];
  const nodes = cloudSelector === undefined ? "" : ` that ${cloudSelector.key} selects`;
  return [noMatchingNode(`${count} Nodes${nodes}`, { key: ownSelectorKey, text: selector?.text ?? "" })];
}

function noMatchingNode(nodes: string, { key, text }: Pick<NamedSelector, "key" | "text">): Problem {
  return warning(
    "NoMatchingNode",
    `None of the ${nodes} matches ${key} ${JSON.stringify(text)}, so the load balancer has no targets.`,
    "Correct the selector, or label the Nodes.",
  );
}

/** The smaller of the requested limit and the cloud's limit. */
export function limitOf({ limit, cloudLimit }: Pick<TargetPolicy, "limit" | "cloudLimit">): number {
  return Math.min(limit ?? Number.POSITIVE_INFINITY, cloudLimit ?? Number.POSITIVE_INFINITY);
}

/** A requested subset is not a problem, unless the cloud accepts fewer targets than requested. */
function limited(count: number, rules: TargetPolicy): readonly Problem[] {
  const max = limitOf(rules);
  const isRequested = rules.policy === "subset" && max === rules.limit;
  if (count <= max || isRequested) return [];
  const selector = rules.cloudSelector?.key ?? ownSelectorKey;
  const text = `The load balancer accepts ${max} targets, and there are ${count} Nodes. ${max} of them were chosen, spread over the zones.`;
  const remedy = `Select fewer Nodes with ${selector}, or choose a larger load balancer.`;
  // The number of Nodes changes constantly.
  const problem: Problem = { ...warning("TargetLimit", text, remedy), identity: String(max) };
  return [problem];
}

const warning = (reason: string, text: string, remedy?: string): Problem => ({
  severity: "warning",
  reason,
  text,
  remedy,
});

/** More than the number of Nodes. The product with a rank is still exact. */
const maxItems = 2 ** 20;

/** A stable order for each seed. The order of the items breaks ties. */
export function inRendezvousOrder<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  seed: string,
): readonly T[] {
  const rankOf = hashAfter(`${seed}/`);
  // Uses numbers, which the runtime sorts natively, because this runs for each Service on every change of a Node.
  const ranks = new Float64Array(items.map((item, index) => rankOf(nameOf(item)) * maxItems + index)).sort();
  return Array.from(ranks, (rank) => items[rank % maxItems] as T);
}
