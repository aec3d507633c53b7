// What a Node is for volumes: the id of its machine, its topology, and how many volumes it can have. Pure.

import type { NodeIdentity } from "../../csi/node-service.ts";
import type { Node } from "../../kube/objects.ts";
import type { Segments, VolumeDriver } from "../../provider/volumes.ts";
import { providerIDOf } from "../node-facts.ts";
import { labelPairs } from "../well-known.ts";

export interface VolumeNode extends NodeIdentity {
  readonly topology: Segments;
}

/** Or what is still missing. */
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
