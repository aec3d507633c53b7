// The objects of snapshot.storage.k8s.io/v1: custom resources of Kubernetes' storage group, which a cluster may lack.

import type { KubeObject } from "./objects.ts";
import type { Resource } from "./resources.ts";
import { slimMetaOnly } from "./slim.ts";

export interface SnapshotError {
  readonly message?: string;
  readonly time?: string;
}

export interface VolumeSnapshot extends KubeObject {
  readonly spec: {
    /** Exactly one of the two is set. */
    readonly source: {
      readonly persistentVolumeClaimName?: string;
      readonly volumeSnapshotContentName?: string;
    };
    readonly volumeSnapshotClassName?: string;
  };
  readonly status?: {
    readonly boundVolumeSnapshotContentName?: string;
    readonly creationTime?: string;
    readonly readyToUse?: boolean;
    readonly restoreSize?: string;
    readonly error?: SnapshotError;
    readonly volumeGroupSnapshotName?: string;
  };
}

export interface VolumeSnapshotContent extends KubeObject {
  readonly spec: {
    readonly volumeSnapshotRef: { readonly name: string; readonly namespace: string; readonly uid?: string };
    readonly deletionPolicy: "Delete" | "Retain";
    readonly driver: string;
    readonly volumeSnapshotClassName?: string;
    /** Exactly one of the two is set. */
    readonly source: { readonly volumeHandle?: string; readonly snapshotHandle?: string };
    readonly sourceVolumeMode?: string;
  };
  readonly status?: {
    readonly snapshotHandle?: string;
    /** In nanoseconds since 1970. */
    readonly creationTime?: number;
    readonly readyToUse?: boolean;
    /** In bytes. */
    readonly restoreSize?: number;
    readonly error?: SnapshotError;
    readonly volumeGroupSnapshotHandle?: string;
  };
}

export interface VolumeSnapshotClass extends KubeObject {
  readonly driver: string;
  readonly deletionPolicy: "Delete" | "Retain";
  readonly parameters?: Readonly<Record<string, string>>;
}

const group = { group: "snapshot.storage.k8s.io", version: "v1", slim: slimMetaOnly } as const;

export const volumeSnapshots: Resource<VolumeSnapshot> = {
  ...group,
  plural: "volumesnapshots",
  kind: "VolumeSnapshot",
  namespaced: true,
};
export const volumeSnapshotContents: Resource<VolumeSnapshotContent> = {
  ...group,
  plural: "volumesnapshotcontents",
  kind: "VolumeSnapshotContent",
  namespaced: false,
};
export const volumeSnapshotClasses: Resource<VolumeSnapshotClass> = {
  ...group,
  plural: "volumesnapshotclasses",
  kind: "VolumeSnapshotClass",
  namespaced: false,
};
