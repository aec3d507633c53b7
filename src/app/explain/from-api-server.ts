// Explains from the API server alone, where the cloud is not configured: the object, its conditions, and the events of the running
// manager.

import { defined } from "../../core/defined.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import {
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
import { otherControllerFor } from "../configuration/cloud-settings.ts";
import { isSelectedBy } from "../manager/compose-nodes.ts";
import type { Operator } from "../operator.ts";
import { describeNode, factsOfNode, type KnownNode } from "./describe-node.ts";
import { closestName, needsAttention } from "./describe-object.ts";
import { describeService, factsOfService, type KnownService } from "./describe-service.ts";
import { describeVolume, factsOfVolume, type KnownVolume } from "./describe-volume.ts";
import {
  type DescribedEvent,
  type DescribedKind,
  type Description,
  isNamespaced,
  maxEvents,
} from "./description.ts";
import type { ExplainAnswer } from "./explain-text.ts";

/** The events of an object, the newest first; and why they cannot be read. */
export interface ReadEvents {
  readonly events?: readonly DescribedEvent[];
  readonly warnings: readonly string[];
}

export async function readEvents(
  api: Pick<KubeApi, "listPage">,
  asked: AskedObject,
  signal: AbortSignal,
): Promise<ReadEvents> {
  if (asked === undefined) return { warnings: [] };
  const { kind, name } = asked;
  const [namespace, bare] = isNamespaced(kind) ? name.split("/") : ["default", name];
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${bare}`;
  try {
    const { items } = await api.listPage(
      events,
      { namespace: namespace ?? "", fieldSelector, limit: 500 },
      signal,
    );
    const found = items
      .map(({ type = "Normal", reason = "", message = "", count = 1, source, ...event }) => ({
        at: event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "",
        ...{ type, reason, message, count },
        source: source?.component ?? "",
      }))
      .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, maxEvents);
    return { events: found, warnings: [] };
  } catch (error) {
    if (isKubeError(error)) return { warnings: [`its events: ${error.message}`] };
    throw error;
  }
}

const unknown = { isDue: false, nextAttemptInSeconds: undefined } as const;

/** What decides which objects are left alone. */
type Rules = Pick<Operator, "provider" | "settings">;

function ofService(service: Service, { provider }: Rules, events?: readonly DescribedEvent[]): Description {
  const nothing = { knowledge: undefined, general: [], now: 0 } as const;
  const otherController = otherControllerFor(provider, service);
  const known: KnownService = { service, otherController, ...nothing, ...unknown, ...defined({ events }) };
  return defined({ ...describeService(known), facts: factsOfService(known), decisions: [], events });
}

function ofNode(node: Node, { settings }: Rules, events?: readonly DescribedEvent[]): Description {
  const isSelected = isSelectedBy(settings.flags)(node);
  const nothing = { answer: undefined, notes: [], proofs: [], now: 0 } as const;
  const known = defined({ node, isSelected, isKept: false, ...nothing, ...unknown, events }) as KnownNode;
  return defined({ ...describeNode(known), facts: factsOfNode(known), decisions: [], events });
}

function ofVolume(
  object: KnownVolume["object"],
  volume: PersistentVolume | undefined,
  events: readonly DescribedEvent[] | undefined,
): Description {
  const nothing = { attachments: undefined, notes: [], driver: undefined } as const;
  const known: KnownVolume = { object, volume, ...nothing, ...unknown, ...defined({ events }) };
  return defined({ ...describeVolume(known), facts: factsOfVolume(known), decisions: [], events });
}

/** Users of one namespace may not read PersistentVolumes. */
async function volumeOf(
  api: KubeApi,
  { spec }: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolume | undefined> {
  const { volumeName: name = "" } = spec ?? {};
  if (name === "") return undefined;
  try {
    return await api.get(persistentVolumes, { name }, signal);
  } catch (error) {
    if (isKubeError(error) && ["not-found", "forbidden"].includes(error.kind)) return undefined;
    throw error;
  }
}

/** The names of the objects that may be listed: a user may see only one namespace. */
async function namesOf(
  api: KubeApi,
  kind: DescribedKind,
  name: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [namespace] = isNamespaced(kind) ? name.split("/") : [];
  const resources = {
    ...{ Node: nodes, Service: services },
    ...{ PersistentVolumeClaim: persistentVolumeClaims, PersistentVolume: persistentVolumes },
  };
  const resource = resources[kind] as Resource<KubeObject>;
  for (const where of [undefined, namespace]) {
    try {
      return (await listAll(api, resource, signal, where)).map(({ metadata }) => keyOf(metadata));
    } catch (error) {
      if (!isKubeError(error) || error.kind !== "forbidden") throw error;
    }
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
    if (isKubeError(error) && error.kind === "forbidden") return error.message;
    throw error;
  }
}

async function find(
  api: KubeApi,
  { kind, name }: { readonly kind: DescribedKind; readonly name: string },
  rules: Rules,
  events: ReadEvents["events"],
  signal: AbortSignal,
): Promise<Description | undefined> {
  try {
    if (kind === "Node") return ofNode(await api.get(nodes, { name }, signal), rules, events);
    if (kind === "PersistentVolume")
      return ofVolume({ kind, claim: undefined }, await api.get(persistentVolumes, { name }, signal), events);
    const [namespace = "", bare = ""] = name.split("/");
    if (kind === "PersistentVolumeClaim") {
      const claim = await api.get(persistentVolumeClaims, { namespace, name: bare }, signal);
      return ofVolume({ kind, claim }, await volumeOf(api, claim, signal), events);
    }
    return ofService(await api.get(services, { namespace, name: bare }, signal), rules, events);
  } catch (error) {
    if (isKubeError(error) && error.kind === "not-found") return undefined;
    throw error;
  }
}

/** In a list, the events of this many objects are read. */
export const maxWithEvents = 10;

/** What was found; without a name, every object that needs attention. */
export type Found = Omit<ExplainAnswer, "source">;
export type AskedObject = { readonly kind: DescribedKind; readonly name: string } | undefined;

export async function explainObjects(
  api: KubeApi,
  asked: AskedObject,
  rules: Rules,
  signal: AbortSignal,
): Promise<Found> {
  if (asked === undefined) {
    type Events = ReadEvents["events"];
    const all = [
      ...(await listAll(api, services, signal)).map((one) => (own?: Events) => ofService(one, rules, own)),
      ...(await listAll(api, nodes, signal)).map((one) => (own?: Events) => ofNode(one, rules, own)),
    ].filter((describe) => needsAttention(describe()));
    const objects = all.map(async (describe, index) =>
      describe(index < maxWithEvents ? (await readEvents(api, describe(), signal)).events : undefined),
    );
    return { objects: await Promise.all(objects), warnings: [] };
  }
  const { events, warnings } = await readEvents(api, asked, signal);
  const found = await find(api, asked, rules, events, signal);
  if (found !== undefined) return { objects: [found], warnings };
  const names = await namesOf(api, asked.kind, asked.name, signal);
  return { objects: [], notFound: closestName(asked.kind, asked.name, names), warnings: [] };
}
