// From the Services of a group to what they wish for, complete: annotations read, nodes chosen, facts remembered. The
// targets are made once per change of the nodes and shared by all wishes.

import { type ServiceUID, serviceUID } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields, Values } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";
import type {
  BalancerTarget,
  DesiredLoadBalancer,
  ObservedLoadBalancer,
} from "../../provider/load-balancers.ts";
import { readAnnotations, unreadable } from "./annotations.ts";
import { describeService, serviceProblems } from "./describe.ts";
import { isSameTargets, targetsOf } from "./eligible-nodes.ts";
import { isFactAnnotation, readFacts } from "./facts.ts";
import { holdImmutable } from "./immutable-settings.ts";
import type { ServicePorts } from "./ports.ts";
import { isBeingDeleted, needsCleanup, wantsLoadBalancer } from "./predicates.ts";
import { type ChosenTargets, chooseTargets, type TargetRules } from "./target-policy.ts";

export type Wish = DesiredLoadBalancer<Fields>;

export interface Member {
  readonly service: Service;
  readonly wish: Wish;
  /** Errors among them freeze what they govern; a creation waits for them to be mended. */
  readonly problems: readonly Problem[];
  /** Nobody knows which targets or settings are meant, and the cloud does not show them: what exists stays as it is. */
  readonly isBlocked: boolean;
  /** Immutable settings for whose sake the balancer has to be made again. */
  readonly recreate: readonly string[];
}

type WishPorts = Pick<ServicePorts, "nodes" | "machineOf" | "annotations" | "facts" | "balancers">;

/** Without a policy of its own a Service gets every node, except where it says which ones or how many. */
const rulesOf = ({ values }: ReturnType<typeof readAnnotations>["own"], seed: ServiceUID): TargetRules => {
  const selector = values["target-selector"];
  const limit = values["target-limit"];
  const implied = selector !== undefined ? "selector" : limit !== undefined ? "subset" : "all";
  return {
    policy: values["target-policy"] ?? implied,
    seed,
    ...(selector !== undefined && { selector }),
    ...(limit !== undefined && { limit }),
  };
};

const ruleNames = ["target-policy", "target-selector", "target-limit"] as const;

export const createWishes = (ports: WishPorts) => {
  /** By uid: a typo in a selector keeps the targets that the last right one chose. */
  const lastRules = new Map<ServiceUID, TargetRules>();
  /** By uid: the last right values, for those that the cloud does not show. */
  const lastSettings = new Map<ServiceUID, Partial<Values<Fields>>>();
  /** Made when somebody first asks for them: without Services nodes may come and go by the thousand at no cost. */
  let made: readonly BalancerTarget[] | undefined;
  const targets = (): readonly BalancerTarget[] => {
    made ??= targetsOf(ports.nodes.list(), ports.machineOf);
    return made;
  };

  /** Of all who take every node, which is nearly everybody. */
  let everyNode: ChosenTargets | undefined;
  const choose = (rules: TargetRules): ChosenTargets => {
    if (rules.policy !== "all" || rules.limit !== undefined) return chooseTargets(targets(), rules);
    everyNode ??= chooseTargets(targets(), rules);
    return everyNode;
  };

  return {
    /** Looks at the nodes again; false when nothing that balancers see has changed. */
    refreshTargets: (): boolean => {
      if (made === undefined) return false;
      const next = targetsOf(ports.nodes.list(), ports.machineOf);
      if (isSameTargets(made, next)) return false;
      made = next;
      everyNode = undefined;
      return true;
    },
    of: (service: Service, observed?: ObservedLoadBalancer): Member => {
      const uid = serviceUID(service.metadata.uid);
      const isReadElsewhere = (key: string): boolean => isFactAnnotation(ports.facts, key);
      const read = readAnnotations(ports.annotations, service, { isReadElsewhere });
      const there = observed && ports.balancers.settingsOf?.(observed, uid);
      const held = holdImmutable(ports.annotations, read, there);
      const areRulesRight = !ruleNames.some((name) => read.own.frozen.has(name));
      const rules = areRulesRight ? rulesOf(read.own, uid) : lastRules.get(uid);
      if (rules !== undefined) lastRules.set(uid, rules);
      const chosen = choose(rules ?? { policy: "all" });
      const lastRight = rememberRight(lastSettings.get(uid), read);
      lastSettings.set(uid, lastRight);
      const unseen = new Set(unreadable(read.frozen, there));
      const remembered = Object.entries(lastRight).filter(([name]) => unseen.has(name));
      const known = observed && { ...there, ...Object.fromEntries(remembered) };
      const isUnreadable = observed !== undefined && unreadable(read.frozen, known).length > 0;
      const hasBalancer = observed?.owners.includes(uid) === true;
      const ends = isEnding(service, { hasBalancer });
      const problems = ends
        ? []
        : [...read.problems, ...held.problems, ...chosen.problems, ...serviceProblems(service)];
      // Nothing is taken down that could not be made again as it is asked for.
      const mayRecreate = !isWrong({ problems });
      const kept = mayRecreate ? [] : held.recreate.map((name) => [name, there?.[name]]);
      const wish = describeService({
        service,
        settings: { ...held.settings, ...Object.fromEntries(kept) },
        frozen: read.frozen,
        facts: readFacts(service, ports.facts),
        targets: chosen.targets,
        ...(known !== undefined && { observed: known }),
        ...(ends && { ending: "delete" as const }),
      });
      const isBlocked = !ends && (rules === undefined || isUnreadable);
      return { service, wish, problems, isBlocked, recreate: ends || !mayRecreate ? [] : held.recreate };
    },
    forget: (uid: ServiceUID): void => {
      lastRules.delete(uid);
      lastSettings.delete(uid);
    },
    /** Labels of Nodes decide who is a target of somebody. */
    get labelsMatter(): boolean {
      return [...lastRules.values()].some(({ selector }) => selector !== undefined);
    },
  };
};

export type Wishes = ReturnType<typeof createWishes>;

/** Whether this Service concerns us at all. */
export const isOurs = (service: Service): boolean => isServed(service) || needsCleanup(service);

/** It asks for nothing any more; what it has goes. */
export const isEnding = (service: Service, question: { readonly hasBalancer?: boolean } = {}): boolean =>
  !isServed(service) || needsCleanup(service, question);

export const isWrong = ({ problems }: Pick<Member, "problems">): boolean =>
  problems.some(({ severity }) => severity === "error");

const rememberRight = (
  before: Partial<Values<Fields>> | undefined,
  { settings, frozen }: ReturnType<typeof readAnnotations>,
): Partial<Values<Fields>> => {
  if (frozen.size === 0) return settings;
  return { ...before, ...Object.fromEntries(Object.entries(settings).filter(([name]) => !frozen.has(name))) };
};

const isServed = (service: Service): boolean => wantsLoadBalancer(service) && !isBeingDeleted(service);
