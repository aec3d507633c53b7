// Reasons of events on claims, PersistentVolumes and VolumeAttachments.

import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";

export const onVolumes: Reasons = {
  Provisioning: { type: "Normal", when: "A volume is being created for the claim", upstream: true },
  ProvisioningSucceeded: { type: "Normal", when: "The volume of the claim was created", upstream: true },
  ProvisioningFailed: {
    type: "Warning",
    when: "The volume of the claim was not created",
    whatToDo: "see the message: it has the wrong value, or the cloud's answer",
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
    whatToDo: "see the message; it has the limit, the machine, or the cloud's answer",
  },
  FailedDetachVolume: {
    type: "Warning",
    when: "The volume was not detached. `status.detachError` of the VolumeAttachment has the same message",
    whatToDo: seeAnswer,
  },
  DetachmentWaits: {
    type: "Warning",
    when: "The volume is to be detached, and its machine may still write to it. Also on the Node",
    whatToDo:
      "stop the machine; or, if it certainly does not run, set the taint `node.kubernetes.io/out-of-service`. The message has the command",
  },
  VolumeDelete: {
    type: "Normal",
    when: "The volume is deleted when it is detached",
    upstream: true,
  },
  VolumeFailedDelete: {
    type: "Warning",
    when: "The volume was not deleted",
    whatToDo: seeAnswer,
    upstream: true,
  },
  VolumeNotLocated: {
    type: "Warning",
    when: "A PersistentVolume that another program made has no node affinity, and where its volume is could not be read",
    whatToDo: "see the message: the volume does not exist, or it has the cloud's answer",
  },
  VolumeKept: {
    type: "Warning",
    when: "Kubernetes released the PersistentVolume, but its volume may still be needed, so it is not deleted",
    whatToDo: "see the message: it names the claim or the other PersistentVolume",
  },
};

export const onVolumeLease: Reasons = {
  SidecarRunning: {
    type: "Warning",
    when: "A sidecar of Kubernetes works for the same driver, so the volume controller waits",
    whatToDo:
      "scale the sidecars to 0 to hand volumes over to Fairlead, or remove `volume` from `--controllers`",
  },
};

export const inVolumeLog: Reasons = {
  SidecarsUnknown: {
    type: "Warning",
    when: "Whether sidecars run could not be checked, so the volume controller waits",
    whatToDo: onlyIfItLasts,
  },
  IgnoredParameter: {
    type: "Warning",
    when: "A StorageClass has a parameter that the driver does not know; it is ignored",
    whatToDo: "correct the parameter in a new StorageClass",
  },
};
