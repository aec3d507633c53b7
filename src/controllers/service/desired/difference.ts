// Reduces the desired state of a Service to a short text that changes exactly when a plan could change. The text determines why
// the cloud differs: the Service, its targets, or the load balancer was changed. With --load-balancer-drift=report, a change of
// the Service applies everything, and a change of Nodes applies only targets. Describes changes for the journal with names,
// ports and counts only, because settings may contain secrets. Pure.

import { hash } from "../../../core/hash.ts";
import { shortList } from "../../../core/text.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { cloudCondition } from "../../well-known.ts";
import type { Desired } from "../deps.ts";
import type { ServiceSettings } from "../settings.ts";
import type { ChangeKind, Fingerprint } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
import { changedTargets, targetsPartOf } from "../targets/changed-targets.ts";
import type { Member } from "./member.ts";

const targetHashes = new WeakMap<BalancerTarget, string>();
const listHashes = new WeakMap<readonly BalancerTarget[], string>();

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "bigint") return String(one);
    return one instanceof Map || one instanceof Set
      ? [...one].map((entry) => JSON.stringify(entry)).toSorted()
      : one;
  });
}

function hashTarget(target: BalancerTarget): string {
  const known = targetHashes.get(target);
  if (known !== undefined) return known;
  const made = shortHash(textOf(target));
  targetHashes.set(target, made);
  return made;
}

function hashTargets(targets: readonly BalancerTarget[]): string {
  const known = listHashes.get(targets);
  if (known !== undefined) return known;
  const made = shortHash(targets.map(hashTarget).join());
  listHashes.set(targets, made);
  return made;
}

/** Two independent 32-bit hashes. */
const shortHash = (text: string): string => `${hash(text).toString(36)}-${hash(`~${text}`).toString(36)}`;

/** Recognizes a step that is applied again. */
export const hashStep = (step: Step): string => shortHash(textOf(step));

/** Excludes facts, because Fairlead writes them. */
export function fingerprintOf({ facts: _, targets, ...spec }: Desired): Fingerprint {
  return { targets: hashTargets(targets), spec: textOf(spec), list: targets };
}

/**
 * - `desired`: the Service has changed, or its load balancer is not complete yet
 * - `targets`: at most the targets have changed since the last completion, or since this process first read the complete Service
 * - `drift`: nothing has changed, so the load balancer was changed outside Fairlead
 */
export type Difference = "desired" | "targets" | "drift";

interface Planned extends Now {
  readonly difference: Difference;
  readonly isLost: boolean;
  readonly steps: readonly Step[];
}

/** The result of the last reconciles. */
type Before = Pick<ServiceState, "session" | "knownSpec">;

interface Now {
  /** Undefined if the Service is gone. */
  readonly member: Member | undefined;
  readonly observed: ObservedLoadBalancer | undefined;
  readonly fingerprint: Fingerprint | undefined;
}

export function differenceOf(
  { session: { change, lastCompleted }, knownSpec }: Before,
  { member, observed, fingerprint }: Now,
  /** True if the Service changed while this replica did not lead. */
  hasStandbyChange: boolean,
): Difference {
  if (member === undefined || fingerprint === undefined) return "desired";
  const isLargerChange = change !== undefined && change !== "update";
  const isLeaving = member.desired.ending !== undefined;
  const isAdoption = observed?.ownership === "unmarked";
  if (isLargerChange || isLeaving || isAdoption || hasStandbyChange) return "desired";
  const isSame = lastCompleted?.spec === fingerprint.spec && lastCompleted.targets === fingerprint.targets;
  if (change === undefined && isSame) return "drift";
  const spec = lastCompleted?.spec ?? knownSpec;
  const isKnown = spec === undefined ? isComplete(member) : spec === fingerprint.spec;
  return isKnown ? "targets" : "desired";
}

/** Whether the Service's status shows that a load balancer was created and that no change has failed. */
function isComplete({ service: { status } }: Member): boolean {
  const hasProblem = (status.conditions ?? []).some(({ type }) => type === cloudCondition);
  return !hasProblem && (status.loadBalancer?.ingress ?? []).length > 0;
}

export interface AllowedSteps {
  readonly steps: readonly Step[];
  /** Steps that are not applied, or only partially. */
  readonly withheld: readonly Step[];
}

export function allowedSteps(
  steps: readonly Step[],
  difference: Difference,
  drift: ServiceSettings["drift"],
): AllowedSteps {
  if (drift === "repair" || difference === "desired") return { steps, withheld: [] };
  if (difference === "drift") return { steps: [], withheld: steps };
  return {
    steps: steps.flatMap((step) => targetsPartOf(step) ?? []),
    withheld: steps.filter(({ targetsPart }) => targetsPart !== "all"),
  };
}

const maxPorts = 8;

export function describeDesired(member: Pick<Member, "desired"> | undefined): string {
  if (member === undefined) return "no Service needs it";
  const { owner, ports, targets, ending } = member.desired;
  const name = `${owner.namespace}/${owner.name}`;
  if (ending !== undefined) return `${name} no longer needs it`;
  const list = ports.map(({ port, protocol }) => `${port}/${protocol}`);
  const shown = list.slice(0, maxPorts).join(" ");
  const more = list.length > maxPorts ? ` … and ${list.length - maxPorts} more` : "";
  return `for ${name}: ports ${shown}${more} to ${targets.length} targets`;
}

/** Why the load balancer is changed, with the name of the Service. `state`: the state before the change. */
export function describeReason(planned: Planned, change: ChangeKind, state: Before): string {
  const { member } = planned;
  if (member === undefined) return "its Service no longer exists";
  const { owner, ending } = member.desired;
  const why = ending === undefined ? reasonOf(planned, change, state) : "load balancer no longer needed";
  return `${owner.namespace}/${owner.name}: ${why}`;
}

function reasonOf(
  { difference, observed, fingerprint, isLost, steps }: Planned,
  change: ChangeKind,
  { session: { change: current, lastCompleted }, knownSpec }: Before,
): string {
  if (isLost) return "its load balancer no longer exists in the cloud";
  if (difference === "drift") return "load balancer changed outside Fairlead";
  if (observed === undefined) return "load balancer needed";
  if (observed.ownership === "unmarked") return `adopts load balancer ${observed.name}`;
  if (change === "update" && lastCompleted !== undefined)
    return describeTargets(lastCompleted.list, fingerprint?.list ?? [], steps) || "targets changed";
  const hasChanged = current !== undefined || (knownSpec !== undefined && knownSpec !== fingerprint?.spec);
  return hasChanged ? "the Service changed" : "load balancer differs from the Service";
}

type Targets = readonly BalancerTarget[];

const maxNames = 80;

/** The changes that the steps make to the load balancer's targets: "node-3 is no longer a target". */
export function describeTargets(before: Targets, now: Targets, steps: readonly Step[]): string {
  const { added, isRemoved } = changedTargets(steps);
  const left = new Set<string>(before.filter(isRemoved).map(({ node }) => node));
  const accepting = new Set<string>(before.flatMap(({ node, draining }) => (draining ? [] : node)));
  const drains = now.filter(({ node, draining }) => draining && accepting.has(node));
  return [
    ...sentence([...left.difference(added)], "is no longer a target", "are no longer targets"),
    ...sentence([...added.difference(left)], "is a new target", "are new targets"),
    ...sentence(
      drains.map(({ node }) => node),
      "gets no new connections",
      "get no new connections",
    ),
    ...sentence(
      [...left.intersection(added)],
      "has a different machine or address",
      "have different machines or addresses",
    ),
  ].join("; ");
}

function sentence(names: readonly string[], one: string, many: string): readonly string[] {
  const [first, second] = names;
  if (first === undefined) return [];
  if (second === undefined) return [`${first} ${one}`];
  return [`${names.length} Nodes ${many} (${shortList(names, maxNames)})`];
}
