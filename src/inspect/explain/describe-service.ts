// Describes a Service: whether it has its load balancer, and if not, why. Pure.

import { isPaused } from "../../controllers/pause.ts";
import { isHint } from "../../controllers/problem-order.ts";
import type { ServiceKnowledge } from "../../controllers/service/controller.ts";
import { defaultLoadBalancerName } from "../../controllers/service/desired/to-desired.ts";
import {
  healthCondition,
  isBeingDeleted,
  isForeignClass,
  isLoadBalancer,
  isManaged,
  wantsLoadBalancer,
  warningCondition,
} from "../../controllers/service/predicates.ts";
import { describeServed, type ServedClasses } from "../../controllers/service/served-classes.ts";
import { addressesOf } from "../../controllers/service/status/status.ts";
import { areAllUnhealthy, unhealthyTargets } from "../../controllers/service/status/target-health.ts";
import { cloudCondition, pausedAnnotation } from "../../controllers/well-known.ts";
import { defined } from "../../core/defined.ts";
import { roughDuration } from "../../core/duration.ts";
import { commandText, shortList } from "../../core/text.ts";
import { keyOf, type Service } from "../../kube/objects.ts";
import {
  type CloudOutage,
  type Describable,
  type DescribedDecision,
  type Description,
  isExplained,
  isFailedAttempt,
  type Judgement,
  type KnownState,
  listingsText,
  type ObjectNote,
  stateOf,
  summaryWith,
  wouldText,
} from "./description.ts";

/** A Service, and what else is known about it. The notes concern all Services, such as rejected cloud credentials. */
export interface KnownService extends KnownState {
  readonly service: Service;
  readonly classes: ServedClasses;
  /** The controller's state of the Service; undefined if it has not seen the Service, or does not run here. */
  readonly knowledge: ServiceKnowledge | undefined;
  /** Why another controller serves the Service, according to its annotations. */
  readonly otherController: string | undefined;
  /** Why load balancers are not listed; undefined while listings succeed. */
  readonly listingFailure?: CloudOutage | undefined;
  /** Monotonic. */
  readonly now: number;
}

/** The controller's messages, and conditions without such a message, for example from another replica. */
function notesOf({ service, knowledge, notes }: KnownService): readonly ObjectNote[] {
  const problems = withHealth(service, knowledge);
  const hold = problems.find(({ severity }) => severity === "hold");
  // The summary contains the pause, and a hold is an event.
  const own = problems.filter(
    (problem) => problem === hold || (problem.reason !== "Paused" && problem.reason !== hold?.reason),
  );
  const written = isExplained(own) ? [] : conditionNotes(service);
  // A controller with warnings knows the warnings of the condition.
  const added = own.length > 0 ? written.filter(({ severity }) => severity === "error") : written;
  return [...own, ...added, ...notes];
}

/** A user's query may have shown a newer state of the targets than the last reconcile. */
function withHealth(service: Service, { problems = [], health }: Partial<ServiceKnowledge> = {}) {
  const { summary } = health ?? {};
  const problem = summary && areAllUnhealthy(summary) ? unhealthyTargets(service, summary) : undefined;
  const known = problems.find(({ reason }) => reason === "AllTargetsUnhealthy");
  const others = problems.filter((one) => one !== known);
  if (problem === undefined) return others;
  return [...others, { ...problem, since: known?.since }];
}

function conditionNotes({ status }: Service): readonly ObjectNote[] {
  return (status.conditions ?? []).flatMap(
    ({ type, status: value, reason, message }): readonly ObjectNote[] => {
      const isProblem = type === cloudCondition && value === "False";
      const isWarning = (type === warningCondition || type === healthCondition) && value === "True";
      if (!isProblem && !isWarning) return [];
      return [{ severity: isProblem ? "error" : "notice", reason, text: message }];
    },
  );
}

/** Why Fairlead ignores the Service; undefined if it is managed. */
function unmanagedBecause({
  service,
  classes,
  knowledge,
  otherController,
}: KnownService): string | undefined {
  const { type = "ClusterIP", loadBalancerClass } = service.spec;
  const fromThere =
    addressesOf(service).length === 0
      ? "it has no address yet, so check that this controller is installed and runs"
      : "its address comes from there";
  // A Service that got its class later stays known until nothing of it remains in the cloud.
  if (isForeignClass(service, classes) && knowledge?.balancer === undefined) {
    const served = `This manager serves ${describeServed(classes)}.`;
    if (loadBalancerClass === undefined)
      return `It has no loadBalancerClass, so the manager of Services without a class serves it: ${fromThere}. ${served} For a load balancer of this manager, create the Service again with a class that it serves.`;
    const how = classes.has(undefined) ? "without it" : "with a class that it serves";
    return `It has loadBalancerClass ${JSON.stringify(loadBalancerClass)}, so the controller that implements this class serves it: ${fromThere}. ${served} The field cannot be changed: for a load balancer of this manager, create the Service again ${how}.`;
  }
  // A Service that got the annotation later keeps its load balancer.
  if (otherController !== undefined && knowledge?.balancer === undefined)
    return `${otherController}: ${fromThere}. Fairlead does nothing for it. For a load balancer of Fairlead, create the Service again without the annotation.`;
  if (isManaged(service, classes)) return undefined;
  if (isLoadBalancer(service)) return "It is being deleted, and Fairlead has nothing to remove for it.";
  return `It is of type ${type}, so it needs no load balancer. Only Services of type LoadBalancer get one.`;
}

const addressText = (addresses: readonly string[]): string =>
  addresses.length === 0
    ? "no address yet"
    : `the address${addresses.length === 1 ? "" : "es"} ${shortList(addresses)}`;

/** The changes that a manager would make in the cloud; a write to the Service alone only reports a problem. */
const plannedInCloud = (decisions: readonly DescribedDecision[]): DescribedDecision | undefined =>
  decisions.find(({ outcome, object }) => outcome === "observed" && object.startsWith("balancer/"));

/** These problems end without a correction. */
const temporary: readonly string[] = ["CloudUnavailable", "CloudThrottled"];

/** A warning delays nothing: pending or planned work shows that the problem does not block. */
function summaryOfProblem(
  { service, knowledge, nextAttemptInSeconds }: KnownService,
  first: ObjectNote,
  decisions: readonly DescribedDecision[],
): Omit<Judgement, "state"> {
  const addresses = addressesOf(service);
  const planned = plannedInCloud(decisions);
  if (planned !== undefined)
    return summaryWith(`It has ${addressText(addresses)}. `, first, ` ${wouldText(planned)}`);
  const isUnderWay = knowledge?.balancer !== undefined || knowledge?.change !== undefined;
  const isBlocked = addresses.length === 0 && nextAttemptInSeconds === undefined && !isUnderWay;
  const end = temporary.includes(first.cause ?? first.reason) ? "this ends" : "this is corrected";
  return summaryWith(
    `It has ${addressText(addresses)}${isBlocked ? `, and gets none until ${end}` : ""}. `,
    first,
  );
}

function judge(
  known: KnownService,
  notes: readonly ObjectNote[],
  decisions: readonly DescribedDecision[],
): Judgement {
  const { service, classes, knowledge, isDue } = known;
  const unmanaged = unmanagedBecause(known);
  if (unmanaged !== undefined) return { state: "unmanaged", summary: unmanaged };
  if (isPaused(service)) {
    const { name, namespace = "default" } = service.metadata;
    return {
      state: "paused",
      summary: `It is paused by ${pausedAnnotation}: neither it nor its load balancer is changed. To continue: ${commandText(`kubectl -n ${namespace} annotate service ${name} ${pausedAnnotation}-`)}`,
    };
  }
  const [first] = notes;
  const addresses = addressesOf(service);
  const isUnfinished = addresses.length === 0 || knowledge?.change !== undefined || isDue;
  // Hints about a settled Service need attention; before that, the pending work is more important.
  const state = isUnfinished && notes.every(isHint) ? undefined : stateOf(notes);
  if (state !== undefined && first !== undefined) {
    if (state === "problem" && !isFailedAttempt(first))
      return { state, ...summaryOfProblem(known, first, decisions) };
    return { state, ...summaryWith(`It has ${addressText(addresses)}. `, first) };
  }
  if (isBeingDeleted(service) || !wantsLoadBalancer(service, classes))
    return { state: "working", summary: "Its load balancer is being removed." };
  const planned = decisions.find(({ outcome }) => outcome === "observed");
  if (planned !== undefined)
    return {
      state: "working",
      summary: `It has ${addressText(addresses)}. ${wouldText(planned)}`,
    };
  if (addresses.length > 0 && knowledge?.change === undefined && !isDue)
    return { state: "settled", summary: `Its load balancer has ${addressText(addresses)}.` };
  if (knowledge?.change !== undefined)
    return {
      state: "working",
      summary: `A change of its load balancer is in progress (${knowledge.change}).`,
    };
  return { state: "working", summary: "It has not been reconciled yet." };
}

function balancerText({ balancer, listedAt }: ServiceKnowledge, now: number): string {
  if (listedAt === undefined) return "unknown: the load balancers of the cloud were not listed yet";
  const shown =
    balancer === undefined ? "none with the mark of this Service" : `${balancer.name} (${balancer.state})`;
  return `${shown}, as listed ${roughDuration((now - listedAt) / 1000)} ago`;
}

const sharersText = ({ sharers }: ServiceKnowledge): string | undefined =>
  sharers.length === 0 ? undefined : shortList(sharers, 120);
function healthText({ health }: ServiceKnowledge, now: number): string | undefined {
  if (health === undefined) return undefined;
  const { at, summary, asked } = health;
  const failure = asked?.failure === undefined ? "" : `; a newer answer could not be read: ${asked.failure}`;
  if (summary === undefined) return `no health check has a result${failure}`;
  const { healthy, unhealthy, why } = summary;
  const failing = unhealthy === 0 ? "" : `, ${unhealthy} unhealthy: ${why}`;
  return `${healthy} healthy${failing}, as read ${roughDuration((now - at) / 1000)} ago${failure}`;
}

function targetsText(targets: readonly string[] | undefined): string | undefined {
  if (targets === undefined) return undefined;
  if (targets.length === 0) return "none: no Node is a target";
  return `${targets.length}: ${shortList(targets, 120)}`;
}

export function serviceSubject(known: KnownService): Describable {
  const { service, knowledge, nextAttemptInSeconds } = known;
  const name = keyOf(service.metadata);
  const balancers =
    knowledge === undefined
      ? []
      : [
          defaultLoadBalancerName(knowledge.uid),
          ...(knowledge.balancer === undefined ? [] : [knowledge.balancer.name]),
        ];
  return {
    kind: "Service",
    name,
    notes: notesOf(known),
    nextAttemptInSeconds,
    journalNames: [`service/${name}`, ...balancers.map((balancer) => `balancer/${balancer}`)],
    judge: (notes, decisions) => judge(known, notes, decisions),
    facts: () => factsOf(known),
  };
}

function factsOf({ service, knowledge, listingFailure, now }: KnownService): Description["facts"] {
  const { spec, metadata } = service;
  const { targets } = knowledge ?? {};
  const addresses = addressesOf(service);
  return defined({
    Type: spec.type ?? "ClusterIP",
    Class: spec.loadBalancerClass,
    Addresses: addresses.length === 0 ? "none" : addresses.join(", "),
    Ports: (spec.ports ?? []).map(({ port, protocol = "TCP" }) => `${port}/${protocol}`).join(" "),
    "Load balancer": knowledge && balancerText(knowledge, now),
    "Shared with": knowledge && sharersText(knowledge),
    Listings: knowledge && listingsText(listingFailure, now),
    Targets: targetsText(targets),
    Health: knowledge && healthText(knowledge, now),
    Deletion: metadata.deletionTimestamp,
  }) as Description["facts"];
}
