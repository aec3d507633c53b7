// From the Services of a group to what they wish for, complete: annotations read, nodes chosen, facts remembered. The
// targets are made once per change of the nodes and shared by all wishes.

import { type Cidr, type ServiceUID, serviceUID } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields, Values } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";
import { keyOf } from "../../kube/resource-path.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { mergeObserved, readAnnotations, unreadable } from "./annotations.ts";
import { isFactAnnotation, readFacts } from "./facts.ts";
import { holdImmutable } from "./immutable-settings.ts";
import { isWrong, type Member } from "./member.ts";
import { cannotRelease, deletionHeld, endingOf, LastEndings } from "./on-delete.ts";
import type { ServicePorts } from "./ports.ts";
import { isEnding } from "./predicates.ts";
import { sourceRangesOf } from "./source-ranges.ts";
import { createTargets, type PickedTargets, type TargetPorts } from "./targets/targets.ts";
import { serviceProblems, wishOf } from "./wish-of.ts";

type WishPorts = TargetPorts & Pick<ServicePorts, "annotations" | "facts" | "services">;

export const createWishes = (ports: WishPorts) => {
  const targets = createTargets(ports);
  /** By uid: the last right values, for those that the cloud does not show. */
  const lastSettings = new Map<ServiceUID, Partial<Values<Fields>>>();
  /** By uid: the last right ranges. */
  const lastRanges = new Map<ServiceUID, readonly Cidr[]>();
  const canRelease = ports.balancers.releases === true;
  const endings = new LastEndings((uid) =>
    ports.services.list().some(({ metadata }) => metadata.uid === uid),
  );

  /** Nobody is let in or kept out by a typo: as long as one is wrong, the ranges stay as they are. */
  const rangesFor = (service: Service, observed: ObservedLoadBalancer | undefined): readonly Cidr[] => {
    const uid = serviceUID(service.metadata.uid);
    const { ranges, problems } = sourceRangesOf(service);
    if (problems.length > 0) {
      const isThere = observed?.owners.includes(uid) === true;
      return (
        (isThere ? ports.balancers.rangesOf?.(observed, uid) : undefined) ?? lastRanges.get(uid) ?? ranges
      );
    }
    lastRanges.set(uid, ranges);
    return ranges;
  };

  const of = (service: Service, observed?: ObservedLoadBalancer): Member => {
    const uid = serviceUID(service.metadata.uid);
    const isReadElsewhere = (key: string): boolean => isFactAnnotation(ports.facts, key);
    const read = readAnnotations(ports.annotations, service, { isReadElsewhere });
    const there = observed && ports.balancers.settingsOf?.(observed, uid);
    const held = holdImmutable(ports.annotations, read, there);
    const lastRight = rememberRight(lastSettings.get(uid), read);
    lastSettings.set(uid, lastRight);
    const unseen = new Set(unreadable(read.frozen, there));
    const remembered = Object.entries(lastRight).filter(([name]) => unseen.has(name));
    const known = observed && { ...there, ...Object.fromEntries(remembered) };
    const isUnreadable = observed !== undefined && unreadable(read.frozen, known).length > 0;
    const hasBalancer = observed?.owners.includes(uid) === true;
    const ends = isEnding(service, { hasBalancer });
    if (ends) targets.forget(keyOf(service.metadata), uid);
    const settings = mergeObserved(held.settings, read.frozen, known);
    const picked = ends ? nobody : targets.pick(service, read.own, ports.balancers.targetLimit?.(settings));
    const ending = endingOf(service, read.own, { canRelease });
    const isHeld = ends && hasBalancer && ending.kind === "held";
    const problems = ends
      ? isHeld
        ? [deletionHeld(ending.why)]
        : []
      : [
          ...read.problems,
          ...held.problems,
          ...picked.problems,
          ...serviceProblems(service),
          ...(read.own.values["on-delete"] === "release" && !canRelease ? [cannotRelease] : []),
        ];
    // Nothing is taken down that could not be made again as it is asked for.
    const mayRecreate = !isWrong({ problems });
    const kept = mayRecreate ? [] : held.recreate.map((name) => [name, there?.[name]]);
    const wish = wishOf({
      service,
      settings: { ...held.settings, ...Object.fromEntries(kept) },
      frozen: read.frozen,
      facts: readFacts(service, ports.facts),
      targets: picked.targets,
      sourceRanges: rangesFor(service, observed),
      ...(known !== undefined && { observed: known }),
      ...(ends && { ending: ending.kind === "release" ? ("release" as const) : ("delete" as const) }),
    });
    endings.note(ending, wish);
    return {
      service,
      wish,
      problems,
      isAwaited: picked.isAwaited,
      isBlocked: !ends && (!picked.areKnown || isUnreadable),
      recreate: ends || !mayRecreate ? [] : held.recreate,
      isHeld,
      ...(picked.changeAt !== undefined && { changeAt: picked.changeAt }),
    };
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
      lastSettings.delete(uid);
      lastRanges.delete(uid);
    },
    get labelsMatter(): boolean {
      return targets.labelsMatter;
    },
  };
};

export type Wishes = ReturnType<typeof createWishes>;

/** What goes needs no target. */
const nobody: PickedTargets = { targets: [], problems: [], isAwaited: false, areKnown: true };

const rememberRight = (
  before: Partial<Values<Fields>> | undefined,
  { settings, frozen }: ReturnType<typeof readAnnotations>,
): Partial<Values<Fields>> => {
  if (frozen.size === 0) return settings;
  return { ...before, ...Object.fromEntries(Object.entries(settings).filter(([name]) => !frozen.has(name))) };
};
