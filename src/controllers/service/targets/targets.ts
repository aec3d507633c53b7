// The targets of each Service: from all Nodes, made once per change and shared, those that its rules choose and that it has
// time to drain.

import type { Milliseconds, NodeName, ServiceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { ownPrefix } from "../../well-known.ts";
import type { OwnSettings } from "../annotations/own-annotations.ts";
import type { ServiceDeps } from "../deps.ts";
import type { ServiceSettings } from "../settings.ts";
import { isSameTargets, targetsOf } from "./eligible-nodes.ts";
import type { EndpointNodes } from "./endpoint-nodes.ts";
import { type Departures, departuresOf } from "./node-departures.ts";
import { type ChosenTargets, chooseTargets, limitOf, type TargetRules } from "./target-policy.ts";
import { createTargetRules } from "./target-rules.ts";

export interface TargetDeps extends Pick<ServiceDeps, "nodes" | "isSelected" | "machineOf" | "balancers"> {
  readonly clock: Clock;
  readonly endpoints: Pick<EndpointNodes, "of" | "release">;
  readonly settings: Pick<ServiceSettings, "targets" | "targetDrain">;
}

export interface PickedTargets extends ChosenTargets {
  /** Whoever knows them calls; until then nothing may be planned. */
  readonly isAwaited: boolean;
  /** False while a rule is wrong and nobody knows what it was before. */
  readonly areKnown: boolean;
  /** When the first of those that drain is to be left out: milliseconds since 1970. */
  readonly changeAt?: number;
}

export function createTargets(ports: TargetDeps) {
  const { nodes, isSelected, machineOf, balancers, settings, endpoints, clock } = ports;
  const rules = createTargetRules(settings);
  let departures: Departures = new Map();
  /** Made when somebody first asks for them: without Services nodes may come and go by the thousand at no cost. */
  let made: readonly BalancerTarget[] | undefined;
  let staying: readonly BalancerTarget[] = [];
  /** Of all who take every node, which is nearly everybody. */
  let everyNode: ChosenTargets | undefined;

  const make = (): readonly BalancerTarget[] => {
    const all = nodes.list().filter(isSelected);
    const before = new Set<NodeName>((made ?? []).map(({ node }) => node));
    departures = departuresOf(all, departures, (name) => before.has(name), clock.now());
    return targetsOf(all, machineOf, (name) => departures.has(name));
  };
  const hold = (next: readonly BalancerTarget[]): void => {
    made = next;
    staying = next.some(({ draining }) => draining) ? next.filter(({ draining }) => !draining) : next;
    everyNode = undefined;
  };

  /** All that stay, and those that still have time to drain. */
  const within = (
    drain: Milliseconds,
  ): { readonly candidates: readonly BalancerTarget[]; readonly changeAt?: number } => {
    // Where nothing can drain, or nothing shall, who leaves is left out at once, as upstream does.
    if (balancers.drains !== true || drain === 0 || staying === made) return { candidates: staying };
    const now = clock.now();
    const endOf = ({ node }: BalancerTarget): number => (departures.get(node) ?? now) + drain;
    const candidates = (made ?? []).filter((target) => !target.draining || endOf(target) > now);
    const ends = candidates.filter(({ draining }) => draining).map(endOf);
    return { candidates, ...(ends.length > 0 && { changeAt: Math.min(...ends) }) };
  };

  const choose = (candidates: readonly BalancerTarget[], by: TargetRules): ChosenTargets => {
    const isEverybody = by.policy === "all" && candidates === staying && staying.length <= limitOf(by);
    if (!isEverybody) return chooseTargets(candidates, by);
    everyNode ??= chooseTargets(staying, { policy: "all" });
    return everyNode;
  };

  return {
    /** Looks at the nodes again; false when nothing that balancers see has changed. */
    refresh: (): boolean => {
      if (made === undefined) return false;
      const next = make();
      if (isSameTargets(made, next)) return false;
      hold(next);
      return true;
    },
    /** For a Service that asks for a balancer. */
    pick: (service: Service, own: OwnSettings, cloudLimit: number | undefined): PickedTargets => {
      if (made === undefined) hold(make());
      const mine = rules.of(service, own);
      const key = keyOf(service.metadata);
      const answer = mine?.policy === "endpoints" ? endpoints.of(key) : undefined;
      if (answer === undefined) endpoints.release(key);
      const { candidates, changeAt } = within(mine?.drain ?? settings.targetDrain);
      const chosen = choose(candidates, {
        ...(mine ?? { policy: "all" }),
        ...(cloudLimit !== undefined && { cloudLimit }),
        ...(answer?.kind === "known" && { endpointsNodes: answer.nodes }),
      });
      return {
        targets: chosen.targets,
        problems: [
          ...chosen.problems,
          ...(answer?.kind === "refused" ? [unreadable(answer.why)] : []),
          ...(balancers.drains === true ? [] : withoutDrain(own)),
        ],
        isAwaited: answer?.kind === "not yet",
        areKnown: mine !== undefined,
        ...(changeAt !== undefined && { changeAt }),
      };
    },
    /** It asks for nothing any more. */
    forget: (key: string, uid: ServiceUID): void => {
      rules.forget(uid);
      endpoints.release(key);
    },
    get labelsMatter(): boolean {
      return rules.labelsMatter;
    },
  };
}

/** Only where this Service asks for it: the flag is for all of them, where it can be done. */
function withoutDrain({ values }: OwnSettings): readonly Problem[] {
  return (values["target-drain"] ?? 0) === 0
    ? []
    : [
        {
          severity: "warning",
          reason: "DrainUnsupported",
          text: `${ownPrefix}target-drain has no effect: balancers of this cloud cannot keep a target without new connections, so a node that leaves is left out at once. Remove the annotation.`,
          key: `${ownPrefix}target-drain`,
        },
      ];
}

function unreadable(why: string): Problem {
  return {
    severity: "warning",
    reason: "EndpointsUnreadable",
    text: `Which nodes have an endpoint of this Service cannot be read, so every node is a target: ${why} The manager needs list and watch of endpointslices in discovery.k8s.io.`,
  };
}
