// Reasons of events on claims, PersistentVolumes, VolumeAttachments, VolumeSnapshots and VolumeSnapshotContents.

import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";

const onSnapshots: Reasons = {
  CreatingSnapshot: { type: "Normal", when: "A snapshot is being created", upstream: true },
  SnapshotCreated: { type: "Normal", when: "The data of the snapshot is final", upstream: true },
  SnapshotReady: { type: "Normal", when: "Volumes can be created from the snapshot", upstream: true },
  GetSnapshotClassFailed: {
    type: "Warning",
    when: "The VolumeSnapshotClass of the VolumeSnapshot does not exist",
    whatToDo: "create the class, or recreate the VolumeSnapshot with an existing class",
    upstream: true,
  },
  SetDefaultSnapshotClassFailed: {
    type: "Warning",
    when: "The VolumeSnapshot names no class, and its driver has no default class or several default classes",
    whatToDo: "set the default-class annotation that the message gives",
    upstream: true,
  },
  SnapshotContentCreationFailed: {
    type: "Warning",
    when: "The claim cannot be snapshotted",
    whatToDo: "correct the claim, PersistentVolume or class that the message names",
    upstream: true,
  },
  SnapshotContentMissing: {
    type: "Warning",
    when: "The VolumeSnapshotContent of the VolumeSnapshot does not exist",
    whatToDo:
      "create the VolumeSnapshotContent, or delete the VolumeSnapshot. A lost snapshot is never recreated",
    upstream: true,
  },
  SnapshotContentMismatch: {
    type: "Warning",
    when: "The VolumeSnapshotContent is pre-provisioned but the VolumeSnapshot names a claim, or the reverse",
    whatToDo: "recreate the VolumeSnapshot with the correct source",
    upstream: true,
  },
  SnapshotContentMisbound: {
    type: "Warning",
    when: "The VolumeSnapshotContent belongs to another VolumeSnapshot",
    whatToDo: "recreate the VolumeSnapshot with the correct source",
    upstream: true,
  },
  SnapshotCreationFailed: {
    type: "Warning",
    when: "The snapshot was not created. `status.error` of the VolumeSnapshot has the same message",
    whatToDo: seeAnswer,
    upstream: true,
  },
  SnapshotContentCheckandUpdateFailed: {
    type: "Warning",
    when: "The snapshot could not be read. `status.error` of the VolumeSnapshot has the same message",
    whatToDo: seeAnswer,
    upstream: true,
  },
  SnapshotDeletePending: {
    type: "Warning",
    when: "The VolumeSnapshot is deleted when no claim is being created from it",
    whatToDo: "wait for the claim, or delete it",
    upstream: true,
  },
  SnapshotDeleteError: {
    type: "Warning",
    when: "The snapshot was not deleted",
    whatToDo: seeAnswer,
    upstream: true,
  },
  SnapshotParametersIgnored: {
    type: "Warning",
    uncounted: "once",
    when: "The VolumeSnapshotClass has parameters, which no provider uses",
    whatToDo: "remove the parameters, or create such snapshots with the cloud's CSI driver",
  },
  SnapshotKept: {
    type: "Warning",
    when: "The VolumeSnapshotContent is being deleted, but its snapshot may still be needed, so it is not deleted",
    whatToDo: "check the VolumeSnapshotContent or VolumeSnapshot that the message names",
  },
};

export const onVolumes: Reasons = {
  Provisioning: { type: "Normal", when: "A volume is being created for the claim", upstream: true },
  ProvisioningSucceeded: { type: "Normal", when: "The volume of the claim was created", upstream: true },
  ProvisioningFailed: {
    type: "Warning",
    when: "The volume of the claim was not created",
    whatToDo: "see the message for the invalid value or the cloud's answer",
    upstream: true,
  },
  Resizing: { type: "Normal", when: "The volume of the claim is being expanded", upstream: true },
  FileSystemResizeRequired: {
    type: "Normal",
    when: "The volume was expanded; the kubelet expands the file system",
    upstream: true,
  },
  VolumeResizeSuccessful: { type: "Normal", when: "The block volume was expanded", upstream: true },
  VolumeResizeFailed: {
    type: "Warning",
    when: "The volume was not expanded",
    whatToDo: seeAnswer,
    upstream: true,
  },
  FailedAttachVolume: {
    type: "Warning",
    when: "The volume was not attached. `status.attachError` of the VolumeAttachment and an event of the pod have the same message",
    whatToDo: "see the message for the limit, the machine, or the cloud's answer",
  },
  FailedDetachVolume: {
    type: "Warning",
    when: "The volume was not detached. `status.detachError` of the VolumeAttachment has the same message",
    whatToDo: seeAnswer,
  },
  DetachmentWaits: {
    type: "Warning",
    when: "The volume is not detached yet, because its machine may still write to it. The event is on the VolumeAttachment and the Node",
    whatToDo:
      "stop the machine; or, if you are sure that it does not run, set the taint `node.kubernetes.io/out-of-service` with the command in the message",
  },
  VolumeDelete: {
    type: "Normal",
    when: "The volume will be deleted once it is detached",
    upstream: true,
  },
  VolumeDeleted: {
    type: "Normal",
    when: "The volume was deleted in the cloud, or no longer exists there",
  },
  VolumeFailedDelete: {
    type: "Warning",
    when: "The volume was not deleted",
    whatToDo: seeAnswer,
    upstream: true,
  },
  VolumeNotLocated: {
    type: "Warning",
    when: "A PersistentVolume that another program created has no node affinity, and the location of its volume could not be read",
    whatToDo: "see the message: the volume does not exist, or the cloud's answer explains the failure",
  },
  VolumeKept: {
    type: "Warning",
    when: "Kubernetes released the PersistentVolume, but its volume may still be needed, so it is not deleted",
    whatToDo: "check the claim or the other PersistentVolume that the message names",
  },
  ...onSnapshots,
};

export const onVolumeLease: Reasons = {
  SidecarRunning: {
    type: "Warning",
    when: "A Kubernetes CSI sidecar runs for the same driver, so the volume controller waits",
    whatToDo:
      "scale the sidecars to 0 to hand volumes over to Fairlead, or remove `volume` from `--controllers`",
  },
};

export const inVolumeLog: Reasons = {
  SidecarsUnknown: {
    type: "Warning",
    uncounted: "note",
    when: "The check for running sidecars failed, so the volume controller waits",
    whatToDo: onlyIfItLasts,
  },
  SnapshotCRDsMissing: {
    type: "Normal",
    when: "The snapshot CRDs are not installed in the cluster, so snapshots are disabled",
  },
  SnapshotControllerRunning: {
    type: "Normal",
    when: "A snapshot-controller is running. It binds VolumeSnapshots; Fairlead creates and deletes their snapshots in the cloud",
  },
  IgnoredParameter: {
    type: "Warning",
    uncounted: "note",
    when: "A StorageClass has an unknown parameter, which is ignored",
    whatToDo: "correct the parameter in a new StorageClass",
  },
};
