// Describes the objects of a running manager: collects what its controllers report, and leaves the judgement to the pure functions.

import type { Answer } from "../../cloud/inventory.ts";
import { identityOf, isUninitialized } from "../../controllers/node-facts.ts";
import type { LifecycleReport } from "../../controllers/node-lifecycle/controller.ts";
import type { ControllerReport, Finding } from "../../controllers/reporter.ts";
import { isLoadBalancer, isManaged } from "../../controllers/service/predicates.ts";
import { defined } from "../../core/defined.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import { shortList } from "../../core/text.ts";
import {
  type KubeObject,
  keyOf,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Service,
  type VolumeAttachment,
} from "../../kube/objects.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { Manager } from "../manager/manager.ts";
import {
  awaitedListsText,
  type ControllerReports,
  leaderTexts,
  unlistedSources,
} from "../report/manager-report.ts";
import { describeNode, factsOfNode, isPlainlySettled, type KnownNode } from "./describe-node.ts";
import { describeService, factsOfService, type KnownService } from "./describe-service.ts";
import {
  describeVolume,
  factsOfVolume,
  journalNamesOf,
  type KnownVolume,
  namesOf,
  queueKeyOf,
} from "./describe-volume.ts";
import {
  type Brief,
  type Decision,
  type DescribedEvent,
  type DescribedKind,
  type Description,
  type ListingFailure,
  type Note,
  stateOf,
} from "./description.ts";

/** The object does not exist; `meant` is the closest name that does. */
export interface NotFound {
  readonly kind: DescribedKind;
  readonly name: string;
  readonly meant?: string;
  /** Load balancers that are in the cloud although their Service does not exist. */
  readonly left?: string;
}

/** More would hide the newest ones. */
const maxDecisions = 8;

/**
 * The last writes about one object, the newest first. `objects` are the journal's names of the object and of what belongs to it, such
 * as `balancer/…`. Reasons about the object begin with `subject`.
 */
export function decisionsAbout(
  entries: readonly JournalEntry[],
  objects: readonly string[],
  subject?: string,
): readonly Decision[] {
  const seen = new Set<string>();
  const isAbout = ({ object, why }: JournalEntry): boolean =>
    objects.includes(object) || (subject !== undefined && why.startsWith(`${subject}: `));
  // What would be done is planned again at each evaluation; the newest plan counts.
  const isNews = ({ object, action, why, outcome }: JournalEntry): boolean => {
    const plan = `${object} ${action} ${why}`;
    return outcome !== "observed" || (!seen.has(plan) && seen.add(plan) !== undefined);
  };
  return entries
    .filter(isAbout)
    .toReversed()
    .filter(isNews)
    .slice(0, maxDecisions)
    .map(({ at, action, object, why, outcome, detail }) =>
      defined({ at: new Date(at).toISOString(), action, object, why, outcome, detail }),
    );
}

/** What concerns all objects of a controller. `isUnfinished`: the object waits for something that only the controller does. */
const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function generalNotes(manager: Manager, controller: string, isUnfinished: boolean): readonly Note[] {
  const notes: Note[] = [];
  const cloud = manager.cloudProblem();
  if (cloud !== undefined)
    notes.push({ kind: "problem", reason: cloud.reason, text: capitalized(cloud.text) });
  const { noLeader, otherLeader } = leaderTexts(manager);
  const leader = [...new Set(manager.leases().map(({ holder }) => holder))].join(" and ");
  if (noLeader !== undefined)
    notes.push({ kind: isUnfinished ? "problem" : "notice", reason: "NoLeader", text: noLeader });
  else if (!manager.leads()) {
    const text =
      otherLeader === undefined
        ? `This replica does not lead, so it reconciles nothing and knows only what the leader has written on the object. Ask the leader${leader === "" ? "" : `, ${leader}`}.`
        : `It waits for ${leader}, which is another program. This manager changes nothing while that leads.`;
    notes.push({ kind: isUnfinished ? "wait" : "notice", reason: "Standby", text });
  }
  const awaited = awaitedListsText(manager.awaitedCaches());
  if (awaited !== undefined)
    notes.push({ kind: isUnfinished ? "problem" : "notice", reason: "CachesOutdated", text: awaited });
  if (!manager.controllers.includes(controller)) {
    const text = `The controller ${controller} does not run in this manager: --controllers disables it, or the cloud does not support it. Nothing is changed for this object.`;
    notes.push({ kind: isUnfinished ? "problem" : "notice", reason: "ControllerDisabled", text });
  }
  return notes;
}

const hasAddress = ({ status }: Service): boolean => (status.loadBalancer?.ingress ?? []).length > 0;

/** Describes objects at one moment. What all of them have in common is read once, so that thousands can be described. */
export class Describer {
  readonly #manager: Manager;
  readonly #now: number;
  readonly #reports: ControllerReports;
  readonly #ofNodes: readonly ControllerReport[];
  readonly #evidence: LifecycleReport["evidence"];
  readonly #general: Readonly<
    Record<"node" | "joiningNode" | "service" | "newService" | "volume", readonly Note[]>
  >;
  readonly #attachments: ReadonlyMap<string | undefined, readonly VolumeAttachment[]>;
  /** No source fails that was never listed: its Nodes are unknown, and must be looked at. */
  readonly #isListed: boolean;

  constructor(manager: Manager) {
    this.#manager = manager;
    this.#now = manager.clock.monotonic();
    this.#reports = manager.controllerReports();
    const { node, lifecycle, route } = this.#reports;
    this.#evidence = lifecycle.evidence;
    this.#ofNodes = [lifecycle, node, ...(route === undefined ? [] : [route])];
    this.#general = {
      node: generalNotes(manager, "cloud-node", false),
      joiningNode: generalNotes(manager, "cloud-node", true),
      service: generalNotes(manager, "service", false),
      newService: generalNotes(manager, "service", true),
      volume: generalNotes(manager, "volume", false),
    };
    this.#isListed = unlistedSources(manager.inventory.sources).length === 0;
    this.#attachments = Map.groupBy(
      manager.volumes?.attachments.list() ?? [],
      ({ spec }) => spec.source.persistentVolumeName,
    );
  }

  /** Claims, and PersistentVolumes without one: every volume once. */
  get volumes(): readonly KnownVolume[] {
    const { claims, volumes } = this.#manager.volumes ?? {};
    const all = claims?.list() ?? [];
    const bound = new Set(all.map(({ spec }) => spec?.volumeName));
    const others = volumes?.list().filter(({ metadata }) => !bound.has(metadata.name)) ?? [];
    return [
      ...all.map((claim) => this.claim(claim)),
      ...others.map((volume) => this.persistentVolume(volume)),
    ];
  }

  claim(claim: PersistentVolumeClaim): KnownVolume {
    const volume = this.#manager.volumes?.volumes.get(claim.spec?.volumeName ?? "");
    return this.#knownVolume({ kind: "PersistentVolumeClaim", claim }, volume);
  }

  persistentVolume(volume: PersistentVolume): KnownVolume {
    const { namespace = "", name = "" } = volume.spec?.claimRef ?? {};
    const claim = this.#manager.volumes?.claims.get(keyOf({ namespace, name }));
    return this.#knownVolume({ kind: "PersistentVolume", claim }, volume);
  }

  /** Every Service that needs a load balancer or has one. */
  get services(): readonly Service[] {
    return this.#manager.services.list().filter((service) => isManaged(service) || isLoadBalancer(service));
  }

  /** Whether the Node is settled, without a question to the inventory: nothing is recorded about it. Cheap. */
  isPlain(node: Node): boolean {
    const { name } = node.metadata;
    return (
      stateOf(this.#general.node) === undefined &&
      this.#isListed &&
      !this.#ofNodes.some(({ findings }) => findings.has(name)) &&
      (this.#evidence.get(name)?.proofs.length ?? 0) === 0 &&
      this.#manager.isSelected(node) &&
      isPlainlySettled(node)
    );
  }

  nodeBriefly(node: Node): Brief {
    return describeNode(this.#knownNode(node));
  }

  /** With events, the manager only evaluates, and makes no attempt. */
  node(node: Node, events?: readonly DescribedEvent[]): Description {
    const known = withoutManager(this.#knownNode(node), events);
    const decisions = decisionsAbout(this.#manager.journal.entries(), [`node/${node.metadata.name}`]);
    return defined({ ...describeNode(known, decisions), facts: factsOfNode(known), decisions, events });
  }

  serviceBriefly(service: Service): Brief {
    return describeService(this.#knownService(service));
  }

  service(service: Service, events?: readonly DescribedEvent[]): Description {
    const key = keyOf(service.metadata);
    const known = withoutManager(this.#knownService(service), events);
    const { group, balancer } = known.knowledge ?? {};
    const names = [group, balancer?.name].filter((name) => name !== undefined);
    const decisions = decisionsAbout(
      this.#manager.journal.entries(),
      [`service/${key}`, ...names.map((name) => `balancer/${name}`)],
      key,
    );
    return defined({
      ...{ ...describeService(known, decisions), facts: factsOfService(known), decisions },
      events,
    });
  }

  volume(known: KnownVolume, events?: readonly DescribedEvent[]): Description {
    const all = withoutManager(known, events);
    const objects = journalNamesOf(known);
    const decisions = decisionsAbout(this.#manager.journal.entries(), objects);
    return defined({ ...describeVolume(all), facts: factsOfVolume(all), decisions, events });
  }

  /** The claim or the PersistentVolume, with all that belongs to it. */
  #knownVolume(object: KnownVolume["object"], volume: PersistentVolume | undefined): KnownVolume {
    const { driver } = this.#manager.volumes ?? {};
    const attachments = volume === undefined ? [] : (this.#attachments.get(volume.metadata.name) ?? []);
    const known = { object, driver, attachments, volume };
    const names = namesOf(known);
    const found = names.flatMap(([kind, name]) => this.#reports.volume?.get(kind)?.get(name) ?? []);
    const queue = this.#manager.queues["volume"];
    const attempts = names.map(([kind, name]) => this.#attemptOf([queue], queueKeyOf(kind, name)));
    const next = attempts.flatMap(({ nextAttemptInSeconds }) => nextAttemptInSeconds ?? []);
    return {
      ...known,
      notes: [...found.map((finding) => this.#noteOf(finding)), ...this.#general.volume],
      isDue: attempts.some(({ isDue }) => isDue),
      nextAttemptInSeconds: next.length === 0 ? undefined : Math.min(...next),
    };
  }

  #knownNode(node: Node): KnownNode {
    const { name } = node.metadata;
    const { inventory, flags, queues } = this.#manager;
    const general = isUninitialized(node) ? this.#general.joiningNode : this.#general.node;
    const found = this.#ofNodes.flatMap(({ findings }) => findings.get(name) ?? []);
    const answer = inventory.check(identityOf(node));
    return {
      node,
      isSelected: this.#manager.isSelected(node),
      isKept: flags["node-deletion"] === "off",
      answer,
      notes: [...found.map((finding) => this.#noteOf(finding)), ...general],
      proofs: this.#evidence.get(name)?.proofs ?? [],
      listingFailure: this.#failureOf(answer, node),
      now: this.#now,
      ...this.#attemptOf([queues["Nodes"], queues["node-lifecycle"]], name),
    };
  }

  /** Of the source with its instance, or else of those that may have it. */
  #failureOf(answer: Answer, node: Node): ListingFailure | undefined {
    const { inventory } = this.#manager;
    const { sources } = inventory;
    const failure =
      answer.kind === "exists"
        ? sources.find(({ source }) => source.name === answer.source)?.failure
        : inventory.failureFor(identityOf(node));
    return failure && (sources.length > 1 ? failure : { ...failure, source: undefined });
  }

  #noteOf({ kind, reason, cause, severity, text, since }: Finding): Note {
    const sinceSeconds = since === undefined ? undefined : Math.round((this.#now - since) / 1000);
    return defined({ kind, reason, cause, severity, text, sinceSeconds });
  }

  #knownService(service: Service): KnownService {
    const knowledge = this.#reports.service?.knowledgeOf(service);
    const general = hasAddress(service) ? this.#general.service : this.#general.newService;
    const otherController = this.#reports.service?.otherControllerOf(service);
    const { failure: listingFailure } = this.#manager.balancers ?? {};
    // A group that waits for a listing that failed has no time in the queue.
    const listingAt = listingFailure === undefined ? [] : [listingFailure.retryAt];
    return {
      service,
      knowledge,
      otherController,
      general: isManaged(service) && otherController === undefined ? general : [],
      now: this.#now,
      listingFailure,
      ...this.#attemptOf([this.#manager.queues["service"]], knowledge?.group, listingAt),
    };
  }

  /** When a key is tried again; at one of the other times if it has none. */
  #attemptOf(
    queues: readonly (WorkQueue | undefined)[],
    key: string | undefined,
    otherwise: readonly number[] = [],
  ) {
    const own = key === undefined ? [] : queues.flatMap((queue) => queue?.dueTime(key) ?? []);
    const dues = own.length > 0 ? own : otherwise;
    return {
      isDue: key !== undefined && queues.some((queue) => queue?.isActive(key) === true),
      nextAttemptInSeconds:
        dues.length === 0 ? undefined : Math.round(Math.max(0, Math.min(...dues) - this.#now) / 1000),
    };
  }
}

/** With events, this process has only just begun to evaluate, and makes no attempt. */
function withoutManager<Known extends KnownNode | KnownService | KnownVolume>(
  known: Known,
  events: readonly DescribedEvent[] | undefined,
): Known {
  if (events === undefined) return known;
  const notes = "notes" in known && known.notes.map(({ sinceSeconds: _, ...note }) => note);
  return { ...known, ...(notes && { notes }), events, nextAttemptInSeconds: undefined };
}

export function describeObject(
  manager: Manager,
  kind: DescribedKind,
  name: string,
  events?: readonly DescribedEvent[],
): Description | NotFound {
  const describer = new Describer(manager);
  if (kind === "Node") {
    const node = manager.nodes.get(name);
    return node === undefined ? notFound(kind, name, manager.nodes.list()) : describer.node(node, events);
  }
  if (kind !== "Service") return describeVolumeNamed(describer, manager, kind, name, events);
  const service = manager.services.get(name);
  if (service !== undefined) return describer.service(service, events);
  return { ...notFound(kind, name, manager.services.list()), ...leftInCloud(manager, name) };
}

function describeVolumeNamed(
  describer: Describer,
  { volumes: known }: Manager,
  kind: Exclude<DescribedKind, "Node" | "Service">,
  name: string,
  events: readonly DescribedEvent[] | undefined,
): Description | NotFound {
  if (known === undefined)
    return {
      ...{ kind, name, state: "unmanaged", facts: {}, notes: [], decisions: [] },
      summary:
        "The volume controller does not run here, so nothing is known about volumes. To let Fairlead manage them, add volume to --controllers.",
    };
  const { claims, volumes } = known;
  if (kind === "PersistentVolume") {
    const volume = volumes.get(name);
    if (volume === undefined) return notFound(kind, name, volumes.list());
    return describer.volume(describer.persistentVolume(volume), events);
  }
  const claim = claims.get(name);
  if (claim === undefined) return notFound(kind, name, claims.list());
  return describer.volume(describer.claim(claim), events);
}

function leftInCloud(manager: Manager, name: string): Pick<NotFound, "left"> {
  const { service } = manager.controllerReports();
  if (service === undefined) return {};
  const namesOf = (list: typeof service.orphans): string =>
    shortList(list.map(({ name: known, group }) => known ?? group));
  const own = service.leftOf(name);
  if (own.length > 0) {
    const hold = service.holds.find(({ services, group }) =>
      own.some((one) => one.group === group || services.includes(name)),
    );
    const why = hold === undefined ? "" : ` (${hold.reason}: ${hold.message})`;
    return { left: `Its load balancer is still in the cloud: ${namesOf(own)}${why}` };
  }
  const others = [...service.orphans, ...service.possibleOrphans];
  if (others.length === 0) return {};
  return {
    left: `Load balancers with Fairlead's mark whose Service does not exist, maybe this one: ${namesOf(others)}`,
  };
}

export const needsAttention = ({ state }: Pick<Brief, "state">): boolean =>
  state !== "settled" && state !== "unmanaged";

/** Everything that Fairlead manages and that is not settled; with `all`, the rest too. */
export function describeEverything(manager: Manager, all = false): readonly Description[] {
  const describer = new Describer(manager);
  // What is planned is only in the decisions, which cost time for thousands of objects.
  const isBrief = !all && manager.flags.mode !== "observe";
  const isOpen = (brief: () => Brief): boolean => !isBrief || needsAttention(brief());
  const described = [
    ...describer.services
      .filter((service) => isOpen(() => describer.serviceBriefly(service)))
      .map((service) => describer.service(service)),
    ...manager.nodes
      .list()
      .filter((node) => isOpen(() => describer.nodeBriefly(node)))
      .map((node) => describer.node(node)),
  ];
  const volumes = describer.volumes
    .filter((known) => isOpen(() => describeVolume(known)))
    .map((known) => describer.volume(known));
  return [...described, ...volumes].filter((each) => all || needsAttention(each));
}

function notFound(kind: DescribedKind, name: string, others: readonly KubeObject[]): NotFound {
  const names = others.map(({ metadata }) => keyOf(metadata));
  return closestName(kind, name, names);
}

/** The name may be right, and only the namespace wrong. */
export function closestName(kind: DescribedKind, name: string, names: readonly string[]): NotFound {
  const start = name.indexOf("/") + 1;
  const [namespace, bare] = [name.slice(0, start), name.slice(start)];
  // Of the namespace too, a long one would make every short name look similar.
  const near = names.filter((one) => one.startsWith(namespace)).map((one) => one.slice(start));
  const similar = didYouMean(bare, near);
  const meant =
    names.find((one) => one.endsWith(`/${bare}`)) ??
    (similar === undefined ? undefined : namespace + similar);
  return meant === undefined ? { kind, name } : { kind, name, meant };
}

export const isNotFound = (answer: Description | NotFound): answer is NotFound => !("state" in answer);
