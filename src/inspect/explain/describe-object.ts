// Describes the objects of a running manager: collects what its controllers report, and leaves conclusions to pure functions.

import { classesOf } from "../../app/flags/controller-settings.ts";
import type { Manager } from "../../app/manager/manager.ts";
import {
  awaitedListsText,
  type ControllerReports,
  leaderProblems,
  unlistedSources,
} from "../../app/report/manager-report.ts";
import type { Answer } from "../../cloud/inventory/instances.ts";
import type { ControllerReport } from "../../controllers/kernel/board.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import { identityOf, isUninitialized } from "../../controllers/node-facts.ts";
import type { LifecycleReport } from "../../controllers/node-lifecycle/controller.ts";
import { isLoadBalancer, isManaged } from "../../controllers/service/predicates.ts";
import { defined } from "../../core/defined.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
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
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { refOf } from "../../volumes/controller/object-ref.ts";
import { kinds, queueKeyOf } from "../../volumes/controller/volume-queue.ts";
import { isPlainlySettled, nodeSubject } from "./describe-node.ts";
import { serviceSubject } from "./describe-service.ts";
import { partsOf, type VolumeObjects, volumeSubject } from "./describe-volume.ts";
import {
  briefly,
  type CloudOutage,
  type Describable,
  type DescribedKind,
  type Description,
  describe,
  isSettled,
  type KnownState,
  type NamedObject,
  type ObjectNote,
  stateOf,
} from "./description.ts";

/** The object does not exist; `meant` is the closest name that does. */
export interface NotFound extends NamedObject {
  readonly meant?: string;
  /** Load balancers that remain in the cloud although their Service does not exist. */
  readonly left?: string;
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** Findings that concern all objects of a controller. `isUnfinished`: the object waits for work by this controller. */
function generalNotes(manager: Manager, controller: string, isUnfinished: boolean): readonly ObjectNote[] {
  const notes: ObjectNote[] = [];
  const cloud = manager.cloudProblem();
  if (cloud !== undefined) notes.push({ ...cloud, text: capitalized(cloud.text) });
  const { noLeader, otherLeader } = leaderProblems(manager);
  const leader = [...new Set(manager.leases().map(({ holder }) => holder))].join(" and ");
  if (noLeader !== undefined)
    notes.push({ ...noLeader, severity: isUnfinished ? "error" : "notice", reason: "NoLeader" });
  else if (!manager.leads()) {
    const text =
      otherLeader === undefined
        ? `This replica does not lead, so it reconciles nothing and knows only what the leader has written on the object. Ask the leader${leader === "" ? "" : `, ${leader}`}.`
        : `It waits for ${leader}, which is another program. This manager changes nothing while that leads.`;
    notes.push({ severity: isUnfinished ? "wait" : "notice", reason: "Standby", text });
  }
  const awaited = awaitedListsText(manager.awaitedCaches());
  if (awaited !== undefined)
    notes.push({ severity: isUnfinished ? "error" : "notice", reason: "CachesOutdated", text: awaited });
  if (!manager.controllers.includes(controller)) {
    const text = `The controller ${controller} does not run in this manager: --controllers disables it, or the cloud does not support it. Nothing is changed for this object.`;
    notes.push({ severity: isUnfinished ? "error" : "notice", reason: "ControllerDisabled", text });
  }
  return notes;
}

const hasAddress = ({ status }: Service): boolean => (status.loadBalancer?.ingress ?? []).length > 0;

/** Describes objects at one moment. Shared data is read once, so that thousands of objects can be described. */
export class Describer {
  readonly #manager: Manager;
  readonly #isOffline: boolean;
  readonly #now: number;
  readonly #reports: ControllerReports;
  readonly #ofNodes: readonly ControllerReport[];
  readonly #evidence: LifecycleReport["evidence"];
  readonly #general: Readonly<
    Record<"node" | "joiningNode" | "service" | "newService" | "volume", readonly ObjectNote[]>
  >;
  readonly #attachments: ReadonlyMap<string | undefined, readonly VolumeAttachment[]>;
  /** If a source was never listed, its Nodes are unknown and must be checked. */
  readonly #isListed: boolean;

  /** `isOffline`: the manager runs only to evaluate for this command, and makes no further attempt. */
  constructor(manager: Manager, isOffline = false) {
    this.#manager = manager;
    this.#isOffline = isOffline;
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

  find({ kind, name }: NamedObject): Describable | NotFound {
    const { nodes, services, volumes } = this.#manager;
    const among = <T extends KubeObject>(
      cache: Pick<LatestObjects<T>, "get" | "list"> | undefined,
      subjectOf: (object: T) => Describable,
    ): Describable | NotFound => {
      if (cache === undefined) return withoutVolumes({ kind, name });
      const object = cache.get(name);
      const names = () => cache.list().map(({ metadata }) => keyOf(metadata));
      return object === undefined ? closestName(kind, name, names()) : subjectOf(object);
    };
    switch (kind) {
      case "Node":
        return among(nodes, (node) => this.node(node));
      case "Service": {
        const found = among(services, (service) => this.service(service));
        return isNotFound(found) ? { ...found, ...this.#leftInCloud(name) } : found;
      }
      case "PersistentVolumeClaim":
        return among(volumes?.claims, (claim) => this.#claim(claim));
      case "PersistentVolume":
        return among(volumes?.volumes, (volume) => this.#persistentVolume(volume));
    }
  }

  #leftInCloud(name: string): Pick<NotFound, "left"> {
    const { service } = this.#reports;
    if (service === undefined) return {};
    const namesOf = (list: typeof service.orphans): string => shortList(list.map(({ name: known }) => known));
    const own = service.leftOf(name);
    if (own.length > 0) {
      const [, hold] = service.holds.find(([key]) => key === name) ?? [];
      const why = hold === undefined ? "" : ` (${hold.reason}: ${messageIn(hold)})`;
      return { left: `Its load balancer is still in the cloud: ${namesOf(own)}${why}` };
    }
    const others = [...service.orphans, ...service.possibleOrphans];
    if (others.length === 0) return {};
    return {
      left: `Load balancers with Fairlead's mark whose Service does not exist, maybe this one: ${namesOf(others)}`,
    };
  }

  /** All Services that need or have a load balancer. */
  get services(): readonly Service[] {
    const classes = classesOf(this.#manager.flags);
    return this.#manager.services
      .list()
      .filter((service) => isManaged(service, classes) || isLoadBalancer(service));
  }

  /** Claims, and PersistentVolumes without a claim: every volume once. */
  get volumes(): readonly Describable[] {
    const { claims, volumes } = this.#manager.volumes ?? {};
    const all = claims?.list() ?? [];
    const bound = new Set(all.map(({ spec }) => spec?.volumeName));
    const others = volumes?.list().filter(({ metadata }) => !bound.has(metadata.name)) ?? [];
    return [
      ...all.map((claim) => this.#claim(claim)),
      ...others.map((volume) => this.#persistentVolume(volume)),
    ];
  }

  /** Everything that Fairlead manages. */
  get everything(): readonly Describable[] {
    return [
      ...this.services.map((service) => this.service(service)),
      ...this.#manager.nodes.list().map((node) => this.node(node)),
      ...this.volumes,
    ];
  }

  /** True if the Node is settled because nothing is recorded about it. Cheap: does not query the inventory. */
  isPlain(node: Node): boolean {
    const { name } = node.metadata;
    return (
      stateOf(this.#general.node) === undefined &&
      this.#isListed &&
      !this.#ofNodes.some(({ problems }) => problems.has(name)) &&
      (this.#evidence.get(name)?.proofs.length ?? 0) === 0 &&
      this.#manager.isSelected(node) &&
      isPlainlySettled(node)
    );
  }

  describe(subject: Describable): Description {
    return describe(subject, this.#manager.journal.entries());
  }

  node(node: Node): Describable {
    const { name } = node.metadata;
    const { inventory, flags, queues } = this.#manager;
    const general = isUninitialized(node) ? this.#general.joiningNode : this.#general.node;
    const found = this.#ofNodes.flatMap(({ problems }) => problems.get(name) ?? []);
    const checked = inventory.check(identityOf(node));
    const answer = inventory.isNeeded || checked.kind === "foreign" ? checked : undefined;
    return nodeSubject({
      node,
      isSelected: this.#manager.isSelected(node),
      isKept: flags["node-deletion"] === "off",
      isTainted: flags["out-of-service-taint"] === "enforce",
      answer,
      match: this.#reports.node.foreignMatchOf(node),
      notes: [...found.map((problem) => this.#noteOf(problem)), ...general],
      proofs: this.#evidence.get(name)?.proofs ?? [],
      stops: this.#evidence.get(name)?.stops ?? [],
      listingFailure: this.#failureOf(answer, node),
      now: this.#now,
      ...this.#attempts([queues["Nodes"], queues["node-lifecycle"]], [name]),
    });
  }

  /** The failure of the source that contains its instance, or else of the sources that may contain it. */
  #failureOf(answer: Answer | undefined, node: Node): CloudOutage | undefined {
    const { inventory } = this.#manager;
    const { sources } = inventory;
    const failure =
      answer?.kind === "exists"
        ? sources.find(({ source }) => source.name === answer.source)?.failure
        : inventory.failureFor(identityOf(node));
    return failure && (sources.length > 1 ? failure : { ...failure, source: undefined });
  }

  service(service: Service): Describable {
    const knowledge = this.#reports.service?.knowledgeOf(service);
    const general = hasAddress(service) ? this.#general.service : this.#general.newService;
    const otherController = this.#reports.service?.otherControllerOf(service);
    const classes = classesOf(this.#manager.flags);
    const { failure: listingFailure } = this.#manager.balancers ?? {};
    // A Service that waits for a failed listing has no due time in the queue.
    const listingAt = listingFailure === undefined ? [] : [listingFailure.retryAt];
    const keys = knowledge === undefined ? [] : [knowledge.uid];
    return serviceSubject({
      service,
      classes,
      knowledge,
      otherController,
      notes: isManaged(service, classes) && otherController === undefined ? general : [],
      now: this.#now,
      listingFailure,
      ...this.#attempts([this.#manager.queues["service"]], keys, listingAt),
    });
  }

  #claim(claim: PersistentVolumeClaim): Describable {
    const volume = this.#manager.volumes?.volumes.get(claim.spec?.volumeName ?? "");
    const attachments = this.#attachmentsOf(volume);
    return this.#volume({ kind: "PersistentVolumeClaim", claim, volume, attachments });
  }

  #persistentVolume(volume: PersistentVolume): Describable {
    const { namespace = "", name = "" } = volume.spec?.claimRef ?? {};
    const claim = this.#manager.volumes?.claims.get(keyOf({ namespace, name }));
    const attachments = this.#attachmentsOf(volume);
    return this.#volume({ kind: "PersistentVolume", claim, volume, attachments });
  }

  #attachmentsOf(volume: PersistentVolume | undefined): readonly VolumeAttachment[] {
    return volume === undefined ? [] : (this.#attachments.get(volume.metadata.name) ?? []);
  }

  #volume(objects: VolumeObjects): Describable {
    const parts = partsOf(objects);
    const found = parts.flatMap(
      ([part, { metadata }]) => this.#reports.volume?.get(kinds[part])?.get(keyOf(metadata)) ?? [],
    );
    return volumeSubject({
      objects,
      driver: this.#manager.volumes?.driver,
      notes: [...found.map((problem) => this.#noteOf(problem)), ...this.#general.volume],
      ...this.#attempts(
        [this.#manager.queues["volume"]],
        parts.map(([part, object]) => queueKeyOf(part, refOf(object))),
      ),
    });
  }

  #noteOf({ severity, reason, cause, text, effect, remedy, promise, since }: Problem): ObjectNote {
    const isKnown = since !== undefined && !this.#isOffline;
    const sinceSeconds = isKnown ? Math.round((this.#now - since) / 1000) : undefined;
    // A command makes no further attempt.
    const next = this.#isOffline ? undefined : promise;
    return defined({ severity, reason, cause, text, effect, remedy, promise: next, sinceSeconds });
  }

  /** The next attempt for these keys; if none is scheduled, the earliest of the times in `otherwise`. */
  #attempts(
    queues: readonly (WorkQueue | undefined)[],
    keys: readonly string[],
    otherwise: readonly number[] = [],
  ): Omit<KnownState, "notes"> {
    const own = keys.flatMap((key) => queues.flatMap((queue) => queue?.dueTime(key) ?? []));
    const dues = own.length > 0 ? own : otherwise;
    const hasTime = dues.length > 0 && !this.#isOffline;
    return {
      isDue: keys.some((key) => queues.some((queue) => queue?.isActive(key) === true)),
      nextAttemptInSeconds: hasTime
        ? Math.round(Math.max(0, Math.min(...dues) - this.#now) / 1000)
        : undefined,
    };
  }
}

const withoutVolumes = (object: NamedObject): Describable => ({
  ...object,
  notes: [],
  nextAttemptInSeconds: undefined,
  journalNames: [],
  judge: () => ({
    state: "unmanaged",
    summary:
      "The volume controller does not run here, so nothing is known about volumes. To let Fairlead manage them, add volume to --controllers.",
  }),
  facts: () => ({}),
});

export function describeObject(manager: Manager, kind: DescribedKind, name: string): Description | NotFound {
  const describer = new Describer(manager);
  const found = describer.find({ kind, name });
  return isNotFound(found) ? found : describer.describe(found);
}

/** All unsettled objects that Fairlead manages; with `all`, settled objects too. */
export function describeEverything(manager: Manager, all = false): readonly Description[] {
  const describer = new Describer(manager);
  // Planned changes are only visible in the decisions, which are slow to compute for thousands of objects.
  const isBrief = !all && manager.flags.mode !== "observe";
  return describer.everything
    .filter((subject) => !isBrief || !isSettled(briefly(subject)))
    .map((subject) => describer.describe(subject))
    .filter((each) => all || !isSettled(each));
}

/** The name may be correct and only the namespace incorrect. */
export function closestName(kind: DescribedKind, name: string, names: readonly string[]): NotFound {
  const start = name.indexOf("/") + 1;
  const [namespace, bare] = [name.slice(0, start), name.slice(start)];
  // Namespaces are not compared, because a long one would make every short name look similar.
  const near = names.filter((one) => one.startsWith(namespace)).map((one) => one.slice(start));
  const similar = didYouMean(bare, near);
  const meant =
    names.find((one) => one.endsWith(`/${bare}`)) ??
    (similar === undefined ? undefined : namespace + similar);
  return meant === undefined ? { kind, name } : { kind, name, meant };
}

export const isNotFound = (answer: Description | Describable | NotFound): answer is NotFound =>
  !("notes" in answer);
