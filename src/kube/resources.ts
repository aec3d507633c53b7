// The API resources that Fairlead uses: their paths, and how their objects are slimmed. A provider declares its custom
// resources with the same interface.

import type {
  CertificateSigningRequest,
  ConfigMap,
  EndpointSlice,
  Event,
  KubeObject,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  Service,
  ServiceAccount,
  StorageClass,
  VolumeAttachment,
} from "./objects.ts";
import { slimEndpointSlice, slimMetaOnly, slimNode, slimService, slimSigningRequest } from "./slim.ts";

export interface Resource<T extends KubeObject> {
  /** The API group; empty for core. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Drops the fields that T does not have. */
  slim(raw: T): T;
}

const core = { group: "", version: "v1", namespaced: true } as const;

export const nodes: Resource<Node> = {
  ...core,
  plural: "nodes",
  kind: "Node",
  namespaced: false,
  slim: slimNode,
};

export const namespaces: Resource<KubeObject> = {
  ...core,
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
  slim: slimMetaOnly,
};

export const services: Resource<Service> = {
  ...core,
  plural: "services",
  kind: "Service",
  slim: slimService,
};

export const events: Resource<Event> = { ...core, plural: "events", kind: "Event", slim: slimMetaOnly };

export const secrets: Resource<Secret> = { ...core, plural: "secrets", kind: "Secret", slim: slimMetaOnly };

export const configMaps: Resource<ConfigMap> = {
  ...core,
  plural: "configmaps",
  kind: "ConfigMap",
  slim: slimMetaOnly,
};

export const serviceAccounts: Resource<ServiceAccount> = {
  ...core,
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  slim: slimMetaOnly,
};

export const leases: Resource<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
  // The object is written back as a whole, so every field is kept.
  slim: (raw) => raw,
};

export const endpointSlices: Resource<EndpointSlice> = {
  group: "discovery.k8s.io",
  version: "v1",
  plural: "endpointslices",
  kind: "EndpointSlice",
  namespaced: true,
  slim: slimEndpointSlice,
};

export const certificateSigningRequests: Resource<CertificateSigningRequest> = {
  group: "certificates.k8s.io",
  version: "v1",
  plural: "certificatesigningrequests",
  kind: "CertificateSigningRequest",
  namespaced: false,
  slim: slimSigningRequest,
};

export const persistentVolumeClaims: Resource<PersistentVolumeClaim> = {
  ...core,
  plural: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  slim: slimMetaOnly,
};

export const persistentVolumes: Resource<PersistentVolume> = {
  ...core,
  plural: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
  slim: slimMetaOnly,
};

const storage = { group: "storage.k8s.io", version: "v1", namespaced: false } as const;

export const storageClasses: Resource<StorageClass> = {
  ...storage,
  plural: "storageclasses",
  kind: "StorageClass",
  slim: slimMetaOnly,
};

export const volumeAttachments: Resource<VolumeAttachment> = {
  ...storage,
  plural: "volumeattachments",
  kind: "VolumeAttachment",
  slim: slimMetaOnly,
};

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function apiVersionOf({ group, version }: Pick<Resource<KubeObject>, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

export function resourcePath<T extends KubeObject>(
  resource: Resource<T>,
  where: { readonly namespace?: string; readonly name?: string; readonly subresource?: string } = {},
): string {
  const root =
    resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const parts = [root];
  if (resource.namespaced && where.namespace !== undefined && where.namespace !== "") {
    parts.push("namespaces", encodeURIComponent(where.namespace));
  }
  parts.push(resource.plural);
  if (where.name !== undefined) parts.push(encodeURIComponent(where.name));
  if (where.subresource !== undefined) parts.push(where.subresource);
  return parts.join("/");
}

export function withQuery(path: string, query: Query | undefined): string {
  if (query === undefined) return path;
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** All resources, for iteration. */
export const resources = {
  nodes,
  services,
  events,
  secrets,
  configMaps,
  serviceAccounts,
  leases,
  endpointSlices,
  certificateSigningRequests,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
} as const;
