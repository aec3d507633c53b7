// Names that Kubernetes and its sidecars define: annotations, finalizers, conditions and taints of volumes. None
// may ever change. Pure.

export const provisionerKeys = [
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
] as const;
export const classKey = "volume.beta.kubernetes.io/storage-class";
/** Set by the scheduler; removed to make it choose another Node. */
export const selectedNodeKey = "volume.kubernetes.io/selected-node";
export const provisionedByKey = "pv.kubernetes.io/provisioned-by";
/** Empty, because deleting the volume requires no secret. */
export const deletionSecretKeys = [
  "volume.kubernetes.io/provisioner-deletion-secret-name",
  "volume.kubernetes.io/provisioner-deletion-secret-namespace",
] as const;
export const identityKey = "storage.kubernetes.io/csiProvisionerIdentity";
/** On a VolumeAttachment: the id of the machine, for use when its Node is gone. */
export const nodeIDKey = "csi.alpha.kubernetes.io/node-id";
export const preResizeKey = "volume.alpha.kubernetes.io/pre-resize-capacity";
export const noNodeExpansionKey = "volume.kubernetes.io/node-expansion-not-required";

/** On PersistentVolumes: keeps the object until the volume in the cloud is deleted. */
export const provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";

/** On VolumeAttachments, and on PersistentVolumes with an attachment. */
export function attacherFinalizer(driver: string): string {
  return `external-attacher/${sanitized(driver)}`;
}

/** On a VolumeAttachment that is being deleted: its machine did not use the volume, and can no longer mount it. */
export const unmountedKey = "fairlead.dev/unmounted";

/** How kubelets name the volume in `status.volumesInUse` of a Node. */
export function nameInUse(driver: string, handle: string): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** The API group of snapshots. */
export const snapshotGroup = "snapshot.storage.k8s.io";
const snapshotPrefix = "snapshot.storage.kubernetes.io";

/** These keep a VolumeSnapshot until nothing is being created from it, and until its VolumeSnapshotContent is deleted. */
export const sourceFinalizer = `${snapshotPrefix}/volumesnapshot-as-source-protection`;
export const boundFinalizer = `${snapshotPrefix}/volumesnapshot-bound-protection`;
/** On VolumeSnapshotContents: keeps the object until the snapshot in the cloud is deleted. */
export const contentFinalizer = `${snapshotPrefix}/volumesnapshotcontent-bound-protection`;
/** On claims: a snapshot of the volume is being created. */
export const claimFinalizer = `${snapshotPrefix}/pvc-as-source-protection`;
/** On VolumeSnapshotContents: a creation has begun and not ended yet, and the VolumeSnapshot was deleted. */
export const beingCreatedKey = `${snapshotPrefix}/volumesnapshot-being-created`;
export const beingDeletedKey = `${snapshotPrefix}/volumesnapshot-being-deleted`;
export const defaultSnapshotClassKey = `${snapshotPrefix}/is-default-class`;
/** On VolumeSnapshotContents: a volume of another mode may be created from it. */
export const modeChangeKey = `${snapshotPrefix}/allow-volume-mode-change`;
/** On VolumeSnapshotContents that belong to a group. */
export const groupHandleKey = "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle";

/** The Leases of the sidecars that work for this driver. */
export function sidecarLeases(driver: string): readonly string[] {
  const name = sanitized(driver);
  const prefixes = ["external-attacher-leader-", "external-resizer-", "external-snapshotter-leader-"];
  return [name, ...prefixes.map((prefix) => prefix + name)];
}

/** The Lease of the snapshot-controller, which works for all drivers. */
export const snapshotControllerLease = "snapshot-controller-leader";

function sanitized(driver: string): string {
  const name = driver.replaceAll(/[^a-zA-Z0-9-]/g, "-");
  return name.endsWith("-") ? `${name}X` : name;
}
