// Where volumes can be used: the machine and topology of a Node, the places for a new volume, and the node affinity of a
// PersistentVolume. Pure.

import { providerIDOf } from "../../controllers/node-facts.ts";
import { labelPairs } from "../../controllers/well-known.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { Segments, VolumeDriver } from "../../provider/volumes.ts";
import type { CSIMachine } from "../csi/node-service.ts";
import { topologyKeyOf } from "../csi/volume-requests.ts";
import { RpcError } from "../grpc/status.ts";
import { selectedNodeKey } from "./names.ts";

/** A Node as the volume controller sees it. */
export interface VolumeNode extends CSIMachine {
  readonly topology: Segments;
}

/** The Node, or what it lacks. */
export function volumeNodeOf(node: Node, driver: VolumeDriver): VolumeNode | string {
  const providerID = providerIDOf(node);
  if (providerID === undefined) return "it has no provider id yet";
  const id = driver.nodeIDOf(providerID);
  if (id === undefined) return `its provider id ${providerID} is of no machine that can have volumes`;
  const { labels = {} } = node.metadata;
  const machine = {
    type: labels[labelPairs.type.current] ?? "",
    region: labels[labelPairs.region.current],
    zone: labels[labelPairs.zone.current],
  };
  const topology = driver.topologyOf(machine);
  if (topology === undefined) return "its labels topology.kubernetes.io/region and zone are not set yet";
  return { id, limit: driver.limitOf(machine), topology };
}

const keyOf = (place: Segments): string =>
  JSON.stringify(Object.entries(place).toSorted(([one], [other]) => (one < other ? -1 : 1)));

const isWithin = (term: Segments, place: Segments): boolean =>
  Object.entries(term).every(([key, value]) => place[key] === value);

/** One term for each combination of values. */
function termsOf({ allowedTopologies = [] }: StorageClass, driver: VolumeDriver): readonly Segments[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.reduce<readonly Segments[]>(
      (terms, { key, values }) => {
        const current = topologyKeyOf(key, driver);
        return terms.flatMap((term) => values.map((value) => ({ ...term, [current]: value })));
      },
      [{}],
    ),
  );
}

/** Spreads the claims of a StatefulSet, which are named CLAIM-SET-NUMBER, as external-provisioner does. */
export function spreadOf(claim: string): number {
  const [, prefix = claim, number = "0"] = /^(.*)-(\d{1,9})$/.exec(claim) ?? [];
  const hashed = prefix === claim ? claim : prefix.slice(prefix.lastIndexOf("-") + 1);
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(hashed)) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return (hash + Number(number)) >>> 0;
}

function placeOfSelected(name: string, nodes: readonly Node[], driver: VolumeDriver): VolumeNode {
  const node = nodes.find(({ metadata }) => metadata.name === name);
  const found = node === undefined ? "it does not exist" : volumeNodeOf(node, driver);
  if (typeof found !== "string") return found;
  throw new RpcError(
    "RESOURCE_EXHAUSTED",
    `The scheduler selected the Node ${name}, where volumes of ${driver.name} cannot be used: ${found}. The scheduler is asked for another Node.`,
  );
}

/**
 * The places where a claim's volume may be: allowed by the StorageClass, with Nodes, the selected Node first. The same
 * as in external-provisioner without --strict-topology. Throws an RpcError if no such place exists.
 */
export function placesFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  nodes: readonly Node[],
  driver: VolumeDriver,
): readonly Segments[] {
  const { name } = storageClass.metadata;
  const terms = termsOf(storageClass, driver);
  for (const key of terms.flatMap((term) => Object.keys(term))) {
    if (driver.topologyKeys.includes(key)) continue;
    const meant = didYouMean(key, driver.topologyKeys);
    throw new RpcError(
      "INVALID_ARGUMENT",
      `allowedTopologies of the StorageClass ${name} has the key ${key}, which volumes of ${driver.name} do not have, so no volume is created. ${meant === undefined ? `Its keys: ${driver.topologyKeys.join(", ")}` : `Did you mean ${meant}`}? Create a StorageClass with a correct key.`,
    );
  }
  const withNodes = nodes.flatMap((node) => {
    const found = volumeNodeOf(node, driver);
    return typeof found === "string" ? [] : [found.topology];
  });
  const isComplete = (term: Segments): boolean => driver.topologyKeys.every((key) => key in term);
  const allowed =
    terms.length === 0
      ? withNodes
      : terms.flatMap((term) =>
          isComplete(term) ? [term] : withNodes.filter((place) => isWithin(term, place)),
        );
  const places = [...new Map(allowed.map((place) => [keyOf(place), place])).entries()]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, place]) => place);
  const selected = claim.metadata.annotations?.[selectedNodeKey] ?? "";
  if (selected !== "") {
    const { topology } = placeOfSelected(selected, nodes, driver);
    const first = places.findIndex((place) => isWithin(place, topology));
    if (first >= 0) return [...places.slice(first), ...places.slice(0, first)];
    throw new RpcError(
      "RESOURCE_EXHAUSTED",
      `The scheduler selected the Node ${selected} in ${Object.values(topology).join(", ")}, which allowedTopologies of the StorageClass ${name} does not include. The scheduler is asked for another Node.`,
    );
  }
  if (places.length === 0)
    throw new RpcError(
      "UNAVAILABLE",
      `No Node can use volumes of ${driver.name} yet${terms.length === 0 ? "" : ` in the allowedTopologies of the StorageClass ${name}`}, so no volume is created. It is created when there is one.`,
    );
  const first = spreadOf(claim.metadata.name) % places.length;
  return [...places.slice(first), ...places.slice(0, first)];
}

/** Limits the volume to Nodes with these labels; undefined if all Nodes can use it. */
export function affinityOf(topology: Segments) {
  const matchExpressions = Object.entries(topology).map(([key, value]) => ({
    key,
    operator: "In",
    values: [value],
  }));
  if (matchExpressions.length === 0) return undefined;
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}

/** The value that all Nodes in this place share; undefined if they differ, or there are none. */
function commonLabel(nodes: readonly Node[], key: string): string | undefined {
  const [first, ...others] = new Set(nodes.map(({ metadata }) => metadata.labels?.[key]));
  return others.length === 0 ? first : undefined;
}

/**
 * Missing labels and node affinity for a PersistentVolume of another program. Undefined if the volume can be used
 * everywhere. Existing labels are kept.
 */
export function locationPatch(
  { metadata }: PersistentVolume,
  topology: Segments,
  nodes: readonly Node[],
  driver: VolumeDriver,
): Patch | undefined {
  const nodeAffinity = affinityOf(topology);
  if (nodeAffinity === undefined) return undefined;
  const there = nodes.filter((node) => {
    const found = volumeNodeOf(node, driver);
    return (
      typeof found !== "string" &&
      Object.entries(topology).every(([key, value]) => found.topology[key] === value)
    );
  });
  const region = labelPairs.region.current;
  const zone = labelPairs.zone.current;
  const common = [region, zone].flatMap((key) => {
    const value = commonLabel(there, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  const labels = { ...topology, ...Object.fromEntries(common), ...metadata.labels };
  return {
    contentType: "application/merge-patch+json",
    body: { metadata: { uid: metadata.uid, labels }, spec: { nodeAffinity } },
  };
}
