// Chooses the targets of each Service: the eligible Nodes that match its rules, and draining Nodes. The list of
// all candidates is built once per change and shared.

import type { Milliseconds, NodeName } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields } from "../../../core/settings.ts";
import type { Node, Service } from "../../../kube/objects.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { ipsOf } from "../../node-facts.ts";
import { ownPrefix } from "../../well-known.ts";
import type { OwnSettings, ReadAnnotations } from "../annotations/annotations.ts";
import { readTargetRules, type TargetRules } from "../annotations/target-rules.ts";
import type { AnyBalancers, ServiceControllerDeps } from "../deps.ts";
import { refusedTargets } from "../state/refused-targets.ts";
import type { ServiceState } from "../state/service-record.ts";
import { type Departures, departuresOf, isSameTargets, targetsOf } from "./candidate-targets.ts";
import {
  type ChosenTargets,
  chooseTargets,
  limitOf,
  separateReachable,
  type TargetPolicy,
} from "./choose-targets.ts";
import type { EndpointNodes } from "./endpoint-nodes.ts";

export interface ServiceTargets extends ChosenTargets {
  /** The rules of the Service, or the last valid ones while a rule is invalid. Undefined if there are no valid rules. */
  readonly rules: TargetRules | undefined;
  /**
   * The endpoints or the machines of foreign Nodes are not known yet, so nothing can be planned. Their arrival enqueues
   * the Service.
   */
  readonly isAwaited: boolean;
  /** When a draining target must be removed, or a rejected target retried, in milliseconds since 1970. */
  readonly changeAt?: number;
}

interface Candidates {
  readonly targets: readonly BalancerTarget[];
  readonly changeAt?: number;
}

/** The last targets of a Service, with the inputs and rules that determined them. */
interface Subset {
  readonly of: readonly BalancerTarget[];
  readonly rules: string;
  readonly chosen: ChosenTargets;
}

/** Node observations from before a session. */
export class SeenNodes {
  /** Since when Nodes are leaving. */
  departures: Departures = new Map();
  /** The most recent candidate Nodes. */
  candidates: ReadonlySet<NodeName> = new Set();
  /** When each Node was first seen with its provider id (monotonic). Older answers may lack its machine. */
  since: ReadonlyMap<string, number> = new Map();
}

export interface TargetHistory {
  readonly seenNodes: SeenNodes;
  readonly endpoints: Pick<EndpointNodes, "nodesOf">;
}

export class Targets {
  readonly #deps: ServiceControllerDeps;
  readonly #endpoints: Pick<EndpointNodes, "nodesOf">;
  readonly #seen: SeenNodes;
  /** Built when a Service first needs it, so that thousands of Nodes cost nothing without Services. */
  #all: readonly BalancerTarget[] | undefined;
  #staying: readonly BalancerTarget[] = [];
  /** The Nodes whose machine the cloud does not show. */
  #gone: ReadonlySet<string> = new Set();
  #isAwaited = false;
  #unproved: readonly string[] = [];
  /** Shared by all Services whose targets are all Nodes, which is nearly every Service. */
  #everyNode: ChosenTargets | undefined;
  /** Results are kept per Service, because a reconcile chooses several times and each choice ranks all Nodes. */
  readonly #subsets = new WeakMap<ServiceState, Subset>();

  constructor(deps: ServiceControllerDeps, { endpoints, seenNodes }: TargetHistory) {
    this.#deps = deps;
    this.#endpoints = endpoints;
    this.#seen = seenNodes;
  }

  /** Rebuilds the list from the Nodes. Returns false if nothing that load balancers use has changed. */
  refresh(): boolean {
    if (this.#all === undefined) return false;
    const [gone, wasAwaited, unproved] = [this.#gone, this.#isAwaited, this.#unproved.join()];
    const next = this.#build();
    const isSame =
      isSameTargets(this.#all, next) && wasAwaited === this.#isAwaited && unproved === this.#unproved.join();
    if (isSame && gone.symmetricDifference(this.#gone).size === 0) return false;
    this.#keep(next);
    return true;
  }

  /** Chooses the targets of a Service that needs a load balancer. */
  choose(
    service: Service,
    state: ServiceState,
    read: Pick<ReadAnnotations<Fields>, "own" | "settings" | "frozen">,
    cloud: Pick<TargetPolicy, "cloudLimit" | "reach">,
  ): ServiceTargets {
    const { settings, annotations, balancers, clock } = this.#deps;
    if (this.#all === undefined) this.#keep(this.#build());
    const rules = readTargetRules(service, read, settings, annotations) ?? state.said.lastTargetRules;
    const answer = rules?.policy === "endpoints" ? this.#endpoints.nodesOf(state) : undefined;
    const candidates = this.#candidates(rules?.drain ?? settings.targetDrain);
    const endpoints = answer?.kind === "known" ? answer : undefined;
    const policy: TargetPolicy = {
      ...(rules ?? { policy: "all" }),
      ...cloud,
      ...defined({ endpoints }),
    };
    const chosen = this.#chooseFrom(candidates.targets, policy, state);
    const { targets, retryAt } = state.session.refused.withhold(chosen.targets, clock.monotonic());
    // Rounded up, because a wall clock has no such fractions, and the target would be withheld once more, without a delay.
    const changes = [candidates.changeAt, retryAt && clock.now() + Math.ceil(retryAt - clock.monotonic())];
    const changeAt = Math.min(...changes.flatMap((at) => at ?? []));
    return {
      targets,
      rules,
      problems: [
        ...chosen.problems,
        ...refusedTargets(chosen.targets, state.session.refused.all),
        ...(answer?.kind === "forbidden" ? [endpointsUnreadable(answer.why)] : []),
        ...(drains(balancers) ? [] : drainUnsupported(read.own)),
      ],
      isAwaited: this.#isAwaited || answer?.kind === "not yet",
      ...(Number.isFinite(changeAt) && { changeAt }),
    };
  }

  /** The Node as a target, if any Service may use it. */
  candidate(name: string): BalancerTarget | undefined {
    return this.#all?.find(({ node }) => node === name);
  }

  isGone({ node }: BalancerTarget): boolean {
    return this.#gone.has(node);
  }

  /** k3s and RKE2 Nodes whose machines may be targets, while the cloud has not answered about them. */
  get unproved(): readonly string[] {
    return this.#unproved;
  }

  #build(): readonly BalancerTarget[] {
    const { nodes, isSelected, machineOf, machines, foreignNodes, clock } = this.#deps;
    const selected = nodes.list().filter(isSelected);
    const now = clock.monotonic();
    const keyOf = ({ metadata: { uid }, spec: { providerID } }: Node) => `${uid} ${providerID}`;
    const seen = new Map(selected.map((node) => [keyOf(node), this.#seen.since.get(keyOf(node)) ?? now]));
    const isGone = (node: Node): boolean => {
      const answer = machines.check(node);
      return answer.kind === "gone" && answer.asOf > (seen.get(keyOf(node)) ?? now);
    };
    this.#seen.since = seen;
    const matches = foreignNodes && new Map(selected.map((node) => [node, foreignNodes.observe(node)]));
    const holding = [...(matches ?? [])].filter(([, match]) => match?.kind === "awaited");
    const held = Map.groupBy(holding, ([, match]) => match?.kind === "awaited" && match.holds);
    this.#isAwaited = held.has("changes");
    this.#unproved = (held.get("removals") ?? []).map(([{ metadata }]) => metadata.name);
    this.#gone = new Set(selected.filter(isGone).map(({ metadata }) => metadata.name));
    const { departures: known, candidates } = this.#seen;
    const departures = departuresOf(selected, known, (name) => candidates.has(name), clock.now());
    const targets = targetsOf(
      selected,
      (node) => {
        const match = matches?.get(node);
        return match === undefined ? machineOf(node) : match.machine;
      },
      (name) => departures.has(name),
      (node) => matches?.get(node)?.ips ?? ipsOf(node),
    );
    this.#seen.departures = departures;
    this.#seen.candidates = new Set(targets.map(({ node }) => node));
    return targets;
  }

  #keep(next: readonly BalancerTarget[]): void {
    this.#all = next;
    this.#staying = next.some(({ draining }) => draining) ? next.filter(({ draining }) => !draining) : next;
    this.#everyNode = undefined;
  }

  /** All permanent targets, and draining targets. */
  #candidates(drain: Milliseconds): Candidates {
    const { balancers, clock } = this.#deps;
    // Without draining, leaving Nodes are removed immediately, as in upstream.
    if (!drains(balancers) || drain === 0 || this.#staying === this.#all) return { targets: this.#staying };
    const now = clock.now();
    const endOf = ({ node }: BalancerTarget): number => (this.#seen.departures.get(node) ?? now) + drain;
    const targets = (this.#all ?? []).filter((target) => !target.draining || endOf(target) > now);
    const ends = targets.filter(({ draining }) => draining).map(endOf);
    return defined({ targets, changeAt: ends.length > 0 ? Math.min(...ends) : undefined });
  }

  #chooseFrom(
    candidates: readonly BalancerTarget[],
    policy: TargetPolicy,
    state: ServiceState,
  ): ChosenTargets {
    const staying = this.#staying;
    const mayTakeAny = (policy.policy === "all" || policy.policy === "subset") && candidates === staying;
    if (
      !mayTakeAny ||
      policy.cloudSelector !== undefined ||
      separateReachable(staying, policy.reach).reachable !== staying
    )
      return chooseTargets(candidates, policy);
    if (staying.length <= limitOf(policy)) {
      this.#everyNode ??= chooseTargets(staying, { policy: "all" });
      return this.#everyNode;
    }
    const rules = `${policy.policy} ${policy.limit} ${policy.cloudLimit}`;
    const known = this.#subsets.get(state);
    if (known?.of === staying && known.rules === rules) return known.chosen;
    const chosen = chooseTargets(staying, policy);
    this.#subsets.set(state, { of: staying, rules, chosen });
    return chosen;
  }
}

export const drains = ({ supports }: Pick<AnyBalancers, "supports">): boolean =>
  supports?.includes("draining") === true;

/** Reported only for the annotation, because the flag applies to all Services where possible. */
function drainUnsupported({ values }: OwnSettings): readonly Problem[] {
  if ((values["target-drain"] ?? 0) === 0) return [];
  return [
    {
      severity: "warning",
      reason: "DrainUnsupported",
      text: `${ownPrefix}target-drain has no effect: this cloud cannot drain targets, so leaving Nodes are removed immediately.`,
      remedy: `Remove the annotation.`,
      key: `${ownPrefix}target-drain`,
    },
  ];
}

function endpointsUnreadable(why: string): Problem {
  return {
    severity: "warning",
    reason: "EndpointsUnreadable",
    text: `EndpointSlices cannot be read, so every Node is a target: ${why}`,
  };
}
