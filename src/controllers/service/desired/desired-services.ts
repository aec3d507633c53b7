// From a Service, seen beside what the cloud has, to what it wishes for, complete: annotations read, nodes chosen, facts
// remembered. One that asks for nothing any more wishes for its end.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import {
  mergeObserved,
  type ReadAnnotations,
  readAnnotations,
  unreadable,
} from "../annotations/annotations.ts";
import type { ServiceDeps } from "../deps.ts";
import { concernsUs, isEnding } from "../predicates.ts";
import { createTargets, type TargetDeps } from "../targets/targets.ts";
import { isFactAnnotation, readFacts } from "./facts.ts";
import { holdImmutable, type ImmutableSettings } from "./immutable-settings.ts";
import { createLastRight } from "./last-valid.ts";
import { type Desired, isWrong, type Member } from "./member.ts";
import { cannotRelease, deletionHeld, type Ending, endingOf, LastEndings } from "./on-delete.ts";
import { serviceProblems, toDesired } from "./to-desired.ts";

type DesiredDeps = TargetDeps & Pick<ServiceDeps, "annotations" | "facts" | "services">;

/** One Service as it was understood. */
interface Understood {
  readonly service: Service;
  readonly read: ReadAnnotations<Fields>;
  /** As the cloud shows them. */
  readonly there: Partial<Values<Fields>> | undefined;
  readonly held: ImmutableSettings<Fields>;
  /** As it wishes for them, or as they have to stay. */
  readonly settings: Values<Fields>;
  /** A setting is wrong, and nobody knows what it was before. */
  readonly isUnreadable: boolean;
  readonly hasBalancer: boolean;
  readonly ending: Ending;
  readonly desiredOf: (rest: Pick<Desired, "settings" | "targets" | "ending">) => Desired;
}

export function createDesiredServices(ports: DesiredDeps) {
  const { balancers, annotations, facts, services } = ports;
  const targets = createTargets(ports);
  const lastRight = createLastRight(balancers);
  const endings = new LastEndings((uid) =>
    services.list().some((service) => service.metadata.uid === uid && concernsUs(service)),
  );
  const canRelease = balancers.releases === true;
  const isReadElsewhere = (key: string): boolean => isFactAnnotation(facts, key);

  const understand = (service: Service, observed: ObservedLoadBalancer | undefined): Understood => {
    const uid = serviceUID(service.metadata.uid);
    const read = readAnnotations(annotations, service, { isReadElsewhere });
    const there = observed && balancers.settingsOf?.(observed, uid);
    const held = holdImmutable(annotations, read, there);
    const remembered = lastRight.settings(uid, read, there);
    const known = observed && { ...there, ...remembered };
    const sourceRanges = lastRight.ranges(service, observed);
    return {
      service,
      read,
      there,
      held,
      settings: mergeObserved(held.settings, read.frozen, known),
      isUnreadable: observed !== undefined && unreadable(read.frozen, known).length > 0,
      hasBalancer: observed?.owners.includes(uid) === true,
      ending: endingOf(service, read.own, { canRelease }),
      desiredOf: (rest) => toDesired({ service, facts: readFacts(service, facts), sourceRanges, ...rest }),
    };
  };

  /** It needs no targets, and what is wrong with it makes no difference any more. */
  const leaving = ({ service, settings, hasBalancer, ending, desiredOf }: Understood): Member => {
    targets.forget(keyOf(service.metadata), serviceUID(service.metadata.uid));
    const isHeld = hasBalancer && ending.kind === "held";
    return {
      service,
      desired: desiredOf({ settings, targets: [], ending: ending.kind === "release" ? "release" : "delete" }),
      problems: isHeld ? [deletionHeld(ending.why)] : [],
      isAwaited: false,
      isBlocked: false,
      recreate: [],
      isHeld,
    };
  };

  const asking = ({ service, read, there, held, settings, isUnreadable, desiredOf }: Understood): Member => {
    const picked = targets.pick(service, read.own, balancers.targetLimit?.(settings));
    const problems = [
      ...read.problems,
      ...held.problems,
      ...picked.problems,
      ...serviceProblems(service),
      ...(read.own.values["on-delete"] === "release" && !canRelease ? [cannotRelease] : []),
    ];
    // Nothing is taken down that could not be made again as it is asked for.
    const mayRecreate = !isWrong({ problems });
    const kept = mayRecreate ? [] : held.recreate.map((name) => [name, there?.[name]]);
    return {
      service,
      desired: desiredOf({ settings: { ...settings, ...Object.fromEntries(kept) }, targets: picked.targets }),
      problems,
      isAwaited: picked.isAwaited,
      isBlocked: !picked.areKnown || isUnreadable,
      recreate: mayRecreate ? held.recreate : [],
      isHeld: false,
      ...(picked.changeAt !== undefined && { changeAt: picked.changeAt }),
    };
  };

  const of = (service: Service, observed?: ObservedLoadBalancer): Member => {
    const understood = understand(service, observed);
    const ends = isEnding(service, { hasBalancer: understood.hasBalancer });
    const member = ends ? leaving(understood) : asking(understood);
    endings.note(understood.ending, member.desired);
    return member;
  };

  /** Undefined for one that cannot be understood. */
  const tryOf = (service: Service): Member | undefined => {
    try {
      return of(service);
    } catch {
      return undefined;
    }
  };

  return {
    of,
    tryOf,
    /** What is known to be wrong with it, whatever else fails. */
    problemsOf: (service: Service): readonly Problem[] => tryOf(service)?.problems ?? [],
    refreshTargets: targets.refresh,
    /** How those ended, or would end, whose balancer is not simply deleted. */
    endings,
    forget: (key: string, uid: ServiceUID): void => {
      targets.forget(key, uid);
      lastRight.forget(uid);
    },
    get labelsMatter(): boolean {
      return targets.labelsMatter;
    },
  };
}

export type DesiredServices = ReturnType<typeof createDesiredServices>;
