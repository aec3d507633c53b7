// Explains objects without a running manager: adds events to what a source finds. One source uses only the API server, for
// commands without access to the cloud.

import { otherControllerFor } from "../../app/configuration/cloud-settings.ts";
import { classesOf } from "../../app/flags/controller-settings.ts";
import { isSelectedBy } from "../../app/manager/compose-nodes.ts";
import type { Operator } from "../../app/operator.ts";
import { defined } from "../../core/defined.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import { isKubeError, undefinedIf } from "../../kube/errors/kube-error.ts";
import {
  eventSourceOf,
  type KubeObject,
  keyOf,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Service,
} from "../../kube/objects.ts";
import {
  events,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  services,
} from "../../kube/resources.ts";
import { nodeSubject } from "./describe-node.ts";
import { closestName, isNotFound, type NotFound } from "./describe-object.ts";
import { serviceSubject } from "./describe-service.ts";
import { volumeSubject } from "./describe-volume.ts";
import {
  briefly,
  type Describable,
  type DescribedEvent,
  type Description,
  describe,
  isNamespaced,
  isSettled,
  maxEvents,
  type NamedObject,
} from "./description.ts";
import type { ExplainAnswer } from "./explain-text.ts";

/** The events of an object, newest first, and why they cannot be read. */
interface ReadEvents {
  readonly events?: readonly DescribedEvent[];
  readonly warnings: readonly string[];
}

function referenceOf({ kind, name }: NamedObject): { readonly namespace?: string; readonly name: string } {
  const [namespace = "", bare = ""] = name.split("/");
  return isNamespaced(kind) ? { namespace, name: bare } : { name };
}

async function readEvents(
  api: Pick<KubeApi, "listPage">,
  asked: NamedObject,
  signal: AbortSignal,
): Promise<ReadEvents> {
  const { namespace = "default", name } = referenceOf(asked);
  const fieldSelector = `involvedObject.kind=${asked.kind},involvedObject.name=${name}`;
  try {
    const { items } = await api.listPage(events, { namespace, fieldSelector, limit: 500 }, signal);
    const found = items
      .map(({ type = "Normal", reason = "", message = "", count = 1, ...event }) => ({
        at: event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "",
        type,
        reason,
        message,
        count,
        source: eventSourceOf(event),
      }))
      .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, maxEvents);
    return { events: found, warnings: [] };
  } catch (error) {
    if (isKubeError(error)) return { warnings: [`its events: ${error.message}`] };
    throw error;
  }
}

/** The maximum number of listed objects whose events are read. */
const maxWithEvents = 10;

/** The objects that were found; if no name was given, every object that needs attention. */
type Found = Required<Pick<ExplainAnswer, "objects" | "warnings">> & Pick<ExplainAnswer, "notFound">;

/** Where a command finds objects without a running manager. */
export interface ObjectSource {
  unsettled(): Promise<readonly Describable[]>;
  find(asked: NamedObject): Promise<Describable | NotFound>;
  describe(subject: Describable): Description;
}

/** Adds the API server's events, which show what a manager has reported. */
export async function explainFrom(
  source: ObjectSource,
  asked: NamedObject | undefined,
  api: KubeApi,
  signal: AbortSignal,
): Promise<Found> {
  if (asked === undefined) {
    const subjects = (await source.unsettled()).map(async (subject, index) => {
      const { events } = index < maxWithEvents ? await readEvents(api, subject, signal) : {};
      return { ...subject, events };
    });
    return { objects: (await Promise.all(subjects)).map(source.describe), warnings: [] };
  }
  const { events: own, warnings } = await readEvents(api, asked, signal);
  const found = await source.find(asked);
  if (isNotFound(found)) return { objects: [], notFound: found, warnings };
  return { objects: [source.describe({ ...found, ...defined({ events: own }) })], warnings };
}

/** The settings that decide which objects are ignored. */
type Rules = Pick<Operator, "provider" | "settings">;

/** The facts that are available without a manager and without the cloud. */
const nothing = { notes: [], isDue: false, nextAttemptInSeconds: undefined, now: 0 } as const;

function serviceFrom(service: Service, { provider, settings }: Rules): Describable {
  const classes = classesOf(settings.flags);
  const otherController = otherControllerFor(provider, service, classes);
  return serviceSubject({ service, classes, otherController, knowledge: undefined, ...nothing });
}

function nodeFrom(node: Node, { settings }: Rules): Describable {
  const isSelected = isSelectedBy(settings.flags)(node);
  const unknown = { answer: undefined, proofs: [], stops: [] } as const;
  return nodeSubject({ node, isSelected, isKept: false, isTainted: false, ...unknown, ...nothing });
}

/** Users of a single namespace may not read PersistentVolumes. */
async function volumeOf(
  api: KubeApi,
  { spec }: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolume | undefined> {
  const { volumeName: name = "" } = spec ?? {};
  if (name === "") return undefined;
  return api.get(persistentVolumes, { name }, signal).catch(undefinedIf("not-found", "forbidden"));
}

const resources = {
  Node: nodes,
  Service: services,
  PersistentVolumeClaim: persistentVolumeClaims,
  PersistentVolume: persistentVolumes,
};

/** The names of the objects that may be listed: a user may see only one namespace. */
async function namesOf(api: KubeApi, asked: NamedObject, signal: AbortSignal): Promise<readonly string[]> {
  const resource = resources[asked.kind] as Resource<KubeObject>;
  for (const where of [undefined, referenceOf(asked).namespace]) {
    const found = await listAll(api, resource, signal, where).catch(undefinedIf("forbidden"));
    if (found !== undefined) return found.map(({ metadata }) => keyOf(metadata));
  }
  return [];
}

/** Why these credentials may not list what a manager needs; undefined if they may. */
export async function listingRefusal(api: KubeApi, signal: AbortSignal): Promise<string | undefined> {
  try {
    await Promise.all([
      api.listPage(nodes, { limit: 1 }, signal),
      api.listPage(services, { limit: 1 }, signal),
    ]);
    return undefined;
  } catch (error) {
    if (isKubeError(error, "forbidden")) return error.message;
    throw error;
  }
}

/** Throws if the object does not exist. */
async function read(
  api: KubeApi,
  asked: NamedObject,
  rules: Rules,
  signal: AbortSignal,
): Promise<Describable> {
  const { kind } = asked;
  const reference = referenceOf(asked);
  if (kind === "Node") return nodeFrom(await api.get(nodes, reference, signal), rules);
  if (kind === "Service") return serviceFrom(await api.get(services, reference, signal), rules);
  const known = { driver: undefined, ...nothing };
  const attachments = undefined;
  if (kind === "PersistentVolume") {
    const volume = await api.get(persistentVolumes, reference, signal);
    return volumeSubject({ objects: { kind, volume, claim: undefined, attachments }, ...known });
  }
  const claim = await api.get(persistentVolumeClaims, reference, signal);
  const volume = await volumeOf(api, claim, signal);
  return volumeSubject({ objects: { kind, claim, volume, attachments }, ...known });
}

/** A source that uses only the API server. */
export const fromApiServer = (api: KubeApi, rules: Rules, signal: AbortSignal): ObjectSource => ({
  unsettled: async () =>
    [
      ...(await listAll(api, services, signal)).map((one) => serviceFrom(one, rules)),
      ...(await listAll(api, nodes, signal)).map((one) => nodeFrom(one, rules)),
    ].filter((subject) => !isSettled(briefly(subject))),
  find: async (asked) => {
    const found = await read(api, asked, rules, signal).catch(undefinedIf("not-found"));
    return found ?? closestName(asked.kind, asked.name, await namesOf(api, asked, signal));
  },
  describe: (subject) => describe(subject),
});
