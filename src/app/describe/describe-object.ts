// Describes an object of the running manager: collects what its controllers know, and leaves the decisions to the pure functions.

import { identityOf, isUninitialized } from "../../controllers/node-facts.ts";
import { isLoadBalancer, isManaged } from "../../controllers/service/predicates.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import { keyOf, type Node, type Service } from "../../kube/objects.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { isSelectedBy } from "../manager/compose-nodes.ts";
import type { Manager } from "../manager/manager.ts";
import { decisionsAbout } from "./decisions.ts";
import { type BriefNodeFacts, describeNode, describeNodeBriefly, isPlainlySettled } from "./describe-node.ts";
import { type BriefServiceFacts, describeService, describeServiceBriefly } from "./describe-service.ts";
import { type Brief, type DescribedKind, type Description, type Note, stateOf } from "./description.ts";

export type Described = Pick<
  Manager,
  | "candidates"
  | "cloudProblem"
  | "controllers"
  | "flags"
  | "inventory"
  | "journal"
  | "leads"
  | "mode"
  | "nodeNotices"
  | "nodes"
  | "problems"
  | "queues"
  | "routeProblems"
  | "serviceKnowledge"
  | "services"
>;

/** The object does not exist; `meant` is the closest name that does. */
export interface NotFound {
  readonly kind: DescribedKind;
  readonly name: string;
  readonly meant?: string;
}

/** When a key is tried again. */
function attemptOf(queues: readonly (WorkQueue | undefined)[], key: string | undefined, now: number) {
  const dues = key === undefined ? [] : queues.flatMap((queue) => queue?.dueTime(key) ?? []);
  return {
    isDue: key !== undefined && queues.some((queue) => queue?.isActive(key) === true),
    nextAttemptInSeconds:
      dues.length === 0 ? undefined : Math.round(Math.max(0, Math.min(...dues) - now) / 1000),
  };
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** What concerns all objects of a controller. `isUnfinished`: the object waits for something that only the controller does. */
function generalNotes(manager: Described, controller: string, isUnfinished: boolean): readonly Note[] {
  const notes: Note[] = [];
  const cloud = manager.cloudProblem();
  if (cloud !== undefined)
    notes.push({ kind: "problem", reason: "CloudUnavailable", text: capitalized(cloud) });
  if (!manager.leads()) {
    const text =
      "This replica does not lead, so it reconciles nothing and knows only what the leader has written on the object. Ask the leader.";
    notes.push({ kind: isUnfinished ? "wait" : "notice", reason: "Standby", text });
  }
  if (!manager.controllers.includes(controller)) {
    const text = `The controller ${controller} does not run in this manager: --controllers disables it, or the cloud does not support it. Nothing is changed for this object.`;
    notes.push({ kind: isUnfinished ? "problem" : "notice", reason: "ControllerDisabled", text });
  }
  return notes;
}

const servicesOf = ({ services }: Described): readonly Service[] =>
  services.list().filter((service) => isManaged(service) || isLoadBalancer(service));

const hasAddress = ({ status }: Service): boolean => (status.loadBalancer?.ingress ?? []).length > 0;

function factsOfService(manager: Described, service: Service, now: number): BriefServiceFacts {
  const knowledge = manager.serviceKnowledge(service);
  return {
    service,
    knowledge,
    general: isManaged(service) ? generalNotes(manager, "service", !hasAddress(service)) : [],
    ...attemptOf([manager.queues["service"]], knowledge?.group, now),
  };
}

function describeOneService(manager: Described, service: Service, now: number): Description {
  const key = keyOf(service.metadata);
  const facts = factsOfService(manager, service, now);
  const { group, balancer } = facts.knowledge ?? {};
  const objects = [`service/${key}`, ...(group === undefined ? [] : [`balancer/${group}`])];
  if (balancer?.name !== undefined) objects.push(`balancer/${balancer.name}`);
  return describeService({
    ...facts,
    decisions: decisionsAbout(manager.journal.entries(), objects, key),
  });
}

/** How to get the facts of a Node. What all Nodes have in common is read once, so that thousands can be described. */
function nodeFacts(manager: Described, now: number): (node: Node) => BriefNodeFacts {
  const isSelected = isSelectedBy(manager.flags);
  const isKept = manager.flags["node-deletion"] === "off";
  const routeProblems = manager.routeProblems();
  const general = generalNotes(manager, "cloud-node", false);
  const generalOfUnfinished = generalNotes(manager, "cloud-node", true);
  const { Nodes: joining, "node-lifecycle": lifecycle } = manager.queues;
  return (node) => {
    const { name } = node.metadata;
    const { problem } = manager.problems.get(name) ?? {};
    const own: Note[] = [];
    if (problem !== undefined) own.push({ kind: "problem", reason: problem.reason, text: problem.text });
    for (const { reason, text } of routeProblems.get(name) ?? []) own.push({ kind: "problem", reason, text });
    for (const text of manager.nodeNotices.get(name) ?? [])
      own.push({ kind: "notice", reason: "Notice", text });
    return {
      node,
      isSelected: isSelected(node),
      isKept,
      answer: manager.inventory.check(identityOf(node)),
      notes: [...own, ...(isUninitialized(node) ? generalOfUnfinished : general)],
      candidate: manager.candidates.get(name),
      now,
      ...attemptOf([joining, lifecycle], name, now),
    };
  };
}

function describeOneNode(manager: Described, facts: BriefNodeFacts): Description {
  const decisions = decisionsAbout(manager.journal.entries(), [`node/${facts.node.metadata.name}`]);
  return describeNode({ ...facts, decisions });
}

export interface NodeDescriber {
  /** Whether the Node is settled, without a question to the inventory: nothing is recorded about it. Cheap. */
  isPlain(node: Node): boolean;
  /** Without its decisions and other facts. */
  describe(node: Node): Brief;
}

/** For thousands of Nodes: nearly all of them are plain. */
export function nodeDescriber(manager: Described, now: number): NodeDescriber {
  const { problems, nodeNotices, candidates } = manager;
  const factsOf = nodeFacts(manager, now);
  const routeProblems = manager.routeProblems();
  const isSelected = isSelectedBy(manager.flags);
  const isQuiet = stateOf(generalNotes(manager, "cloud-node", false)) === undefined;
  return {
    isPlain: (node) => {
      const { name } = node.metadata;
      return (
        isQuiet &&
        !problems.has(name) &&
        !candidates.has(name) &&
        !routeProblems.has(name) &&
        !nodeNotices.has(name) &&
        isSelected(node) &&
        isPlainlySettled(node)
      );
    },
    describe: (node) => describeNodeBriefly(factsOf(node)),
  };
}

/** Every Service that needs a load balancer or has one, without its decisions and other facts. */
export function describeServicesBriefly(
  manager: Described,
  now: number,
): readonly (Brief & { service: Service })[] {
  return servicesOf(manager).map((service) => ({
    service,
    ...describeServiceBriefly(factsOfService(manager, service, now)),
  }));
}

/** `now` is monotonic. */
export function describeObject(
  manager: Described,
  kind: DescribedKind,
  name: string,
  now: number,
): Description | NotFound {
  if (kind === "Node") {
    const node = manager.nodes.get(name);
    return node === undefined
      ? notFound(kind, name, manager.nodes.list())
      : describeOneNode(manager, nodeFacts(manager, now)(node));
  }
  const service = manager.services.get(name);
  return service === undefined
    ? notFound(kind, name, manager.services.list())
    : describeOneService(manager, service, now);
}

const needsAttention = ({ state }: Pick<Brief, "state">): boolean =>
  state !== "settled" && state !== "unmanaged";

/** Everything that Fairlead manages and that is not settled; with `all`, the rest too. */
export function describeEverything(manager: Described, now: number, all = false): readonly Description[] {
  // What is planned is only in the decisions, which cost time for thousands of objects.
  const isBrief = !all && manager.mode !== "observe";
  const factsOf = nodeFacts(manager, now);
  const isOpen = (brief: () => Brief): boolean => !isBrief || needsAttention(brief());
  const services = servicesOf(manager).filter((service) =>
    isOpen(() => describeServiceBriefly(factsOfService(manager, service, now))),
  );
  const nodes = manager.nodes.list().filter((node) => isOpen(() => describeNodeBriefly(factsOf(node))));
  const described = [
    ...services.map((service) => describeOneService(manager, service, now)),
    ...nodes.map((node) => describeOneNode(manager, factsOf(node))),
  ];
  return all ? described : described.filter(needsAttention);
}

function notFound(kind: DescribedKind, name: string, others: readonly (Node | Service)[]): NotFound {
  return closestName(
    kind,
    name,
    others.map(({ metadata }) => keyOf(metadata)),
  );
}

/** The name may be right, and only the namespace wrong. */
export function closestName(kind: DescribedKind, name: string, names: readonly string[]): NotFound {
  const bare = name.slice(name.indexOf("/") + 1);
  const meant = names.find((one) => one.endsWith(`/${bare}`)) ?? didYouMean(name, names);
  return meant === undefined ? { kind, name } : { kind, name, meant };
}

export const isNotFound = (answer: Description | NotFound): answer is NotFound => !("state" in answer);
