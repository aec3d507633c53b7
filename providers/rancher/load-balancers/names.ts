// The names and marks of load balancers and external services: those of the Go manager, and Fairlead's metadata. Pure.

import type { ServiceUID } from "#ccm";
import type { Metadata } from "../api/resources.ts";

export const balancerName = (defaultName: string): string => `lb-${defaultName}`;

/** The group of a Service, from its uid. */
export const groupOfOwner = (owner: ServiceUID): string =>
  balancerName(`a${owner.replaceAll("-", "")}`.slice(0, 32));

/** What a load balancer is called without a Service: its name was the mark. */
export const releasedName = (id: string): string => `released-${id}`;

/** The name of the external service of a Node. */
export function nodeServiceName(node: string): string {
  const name = node
    .replaceAll(/[^a-zA-Z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .replaceAll(/-{2,}/g, "-");
  // The API refuses a dash at the end.
  return name.slice(0, 63).replace(/-+$/, "");
}

/** The external service with all Nodes of a Service that checks their health. Its check cannot be changed, so the name has the port. */
export const checkedServiceName = (defaultName: string, port: number): string =>
  `${balancerName(defaultName)}-local-${port}`;

const clusterKey = "fairlead.dev/cluster";
const ownerKey = "fairlead.dev/service-uid";

export function metadataOf(cluster: string, owner: ServiceUID, before?: Metadata | null): Metadata {
  return { ...before, [clusterKey]: cluster, [ownerKey]: owner };
}

export function withoutMark(metadata: Metadata | null | undefined): Metadata {
  const { [clusterKey]: _cluster, [ownerKey]: _owner, ...rest } = metadata ?? {};
  return rest;
}

function textAt(metadata: Metadata | null | undefined, key: string): string | undefined {
  const value = metadata?.[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export const clusterOf = (metadata: Metadata | null | undefined) => textAt(metadata, clusterKey);
export const markedOwner = (metadata: Metadata | null | undefined) =>
  textAt(metadata, ownerKey) as ServiceUID | undefined;

/** The Go manager cuts the last digit of the uid from the name, so each digit is possible. */
export function ownersByName(name: string): readonly ServiceUID[] {
  const [, a, b, c, d, e] =
    /^lb-a([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{11})$/.exec(name) ?? [];
  if (a === undefined) return [];
  return [..."0123456789abcdef"].map((digit) => `${a}-${b}-${c}-${d}-${e}${digit}` as ServiceUID);
}
