// The resources that the test API server serves, all in version v1, and the behavior of each. validation/*-rules.ts contains
// the rules for their fields.

export interface Resource {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly hasStatus?: boolean;
  /** Whether metadata.generation counts changes; not for Nodes and Services. */
  readonly tracksGeneration?: boolean;
  /** A PUT to a name that does not exist creates it. */
  readonly createsOnUpdate?: boolean;
  /** True if a PUT or PATCH must carry a resource version. */
  readonly needsVersionOnUpdate?: boolean;
}

function resource(kind: string, plural: string, namespaced: boolean, more: Partial<Resource> = {}): Resource {
  return { group: "", plural, kind, namespaced, ...more };
}

/** Custom resources, without the rules of their CRDs. */
const snapshots = { group: "snapshot.storage.k8s.io", hasStatus: true, tracksGeneration: true };

export const resources: readonly Resource[] = [
  resource("ConfigMap", "configmaps", true, { shortNames: ["cm"] }),
  resource("Event", "events", true, { shortNames: ["ev"], createsOnUpdate: true }),
  resource("Namespace", "namespaces", false, { shortNames: ["ns"], hasStatus: true }),
  resource("Node", "nodes", false, { shortNames: ["no"], hasStatus: true }),
  resource("Secret", "secrets", true),
  resource("ServiceAccount", "serviceaccounts", true, { shortNames: ["sa"] }),
  resource("Service", "services", true, { shortNames: ["svc"], hasStatus: true }),
  resource("Lease", "leases", true, {
    group: "coordination.k8s.io",
    createsOnUpdate: true,
    needsVersionOnUpdate: true,
  }),
  resource("PersistentVolume", "persistentvolumes", false, { shortNames: ["pv"], hasStatus: true }),
  resource("PersistentVolumeClaim", "persistentvolumeclaims", true, { shortNames: ["pvc"], hasStatus: true }),
  resource("StorageClass", "storageclasses", false, { group: "storage.k8s.io", shortNames: ["sc"] }),
  resource("VolumeAttachment", "volumeattachments", false, { group: "storage.k8s.io", hasStatus: true }),
  resource("VolumeSnapshot", "volumesnapshots", true, snapshots),
  resource("VolumeSnapshotContent", "volumesnapshotcontents", false, snapshots),
  resource("VolumeSnapshotClass", "volumesnapshotclasses", false, { ...snapshots, hasStatus: false }),
  resource("EndpointSlice", "endpointslices", true, {
    group: "discovery.k8s.io",
    tracksGeneration: true,
    createsOnUpdate: true,
  }),
];

/** Kinds whose create requests are answered but never stored. */
export const reviews = [
  { group: "authentication.k8s.io", plural: "tokenreviews", kind: "TokenReview" },
  { group: "authorization.k8s.io", plural: "selfsubjectaccessreviews", kind: "SelfSubjectAccessReview" },
  { group: "authorization.k8s.io", plural: "subjectaccessreviews", kind: "SubjectAccessReview" },
] as const;

const byPlural = new Map(resources.map((each) => [each.plural, each]));

export function findResource(group: string, version: string, plural: string): Resource | undefined {
  const found = byPlural.get(plural);
  return version === "v1" && found?.group === group ? found : undefined;
}

/** The resource with this plural, such as `resourceNamed("nodes")`. */
export function resourceNamed(plural: string): Resource {
  const found = byPlural.get(plural);
  if (found === undefined) throw new TypeError(`The test API server has no resource "${plural}".`);
  return found;
}

export const versionOf = (group: string): string => (group === "" ? "v1" : `${group}/v1`);
