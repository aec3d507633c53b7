// The labels and the node affinity of a PersistentVolume that another program made without them: where its volume can be used. Pure.

import type { Node, PersistentVolume } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { Segments, VolumeDriver } from "../../provider/volumes.ts";
import { labelPairs } from "../well-known.ts";
import { affinityOf } from "./plan-claim.ts";
import { volumeNodeOf } from "./volume-node.ts";

/** The value that all Nodes in this place have; undefined if they differ, or there are none. */
function commonLabel(nodes: readonly Node[], key: string): string | undefined {
  const [first, ...others] = new Set(nodes.map(({ metadata }) => metadata.labels?.[key]));
  return others.length === 0 ? first : undefined;
}

/** Undefined if the volume can be used everywhere. Labels that exist are kept. */
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
