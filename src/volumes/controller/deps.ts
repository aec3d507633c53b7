// The dependencies of the volume controller. `src/app` composes it.

import type { Inventory } from "../../cloud/inventory/instances.ts";
import type { JournalledSend } from "../../controllers/kernel/journalled-send.ts";
import type { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { NodeStore, Note } from "../../controllers/node-deps.ts";
import type { LifecycleSettings } from "../../controllers/node-lifecycle/settings.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type {
  KubeObject,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
} from "../../kube/objects.ts";
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from "../../kube/volume-snapshots.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { VolumeDriver } from "../../provider/volumes.ts";
import type { CloudVolumes } from "../csi/cloud-volumes.ts";
import type { StatusCode } from "../grpc/status.ts";

/** The kinds of objects that reports concern. */
export type ReportedKind =
  | "PersistentVolumeClaim"
  | "PersistentVolume"
  | "VolumeAttachment"
  | "VolumeSnapshot"
  | "VolumeSnapshotContent"
  | "Node";

/** The findings about an object; each topic is reported independently. */
export type Topic = "provision" | "expand" | "attach" | "detach" | "delete" | "label" | "snapshot" | "write";

export interface VolumeStores {
  readonly claims: LatestObjects<PersistentVolumeClaim>;
  readonly volumes: LatestObjects<PersistentVolume>;
  readonly attachments: LatestObjects<VolumeAttachment>;
  readonly classes: LatestObjects<StorageClass>;
}

/** The caches follow the API server for the life of the process, starting with the first session. */
export interface SnapshotCaches {
  readonly snapshots: LatestObjects<VolumeSnapshot>;
  readonly contents: LatestObjects<VolumeSnapshotContent>;
  readonly classes: LatestObjects<VolumeSnapshotClass>;
}

export interface SnapshotWatches {
  /** Whether the cluster has the CRDs. */
  isInstalled(signal: AbortSignal): Promise<boolean>;
  /** Resolves when the caches are current. All sessions share the caches. */
  open(signal: AbortSignal): Promise<SnapshotCaches>;
}

export interface VolumeDeps {
  readonly driver: VolumeDriver;
  /** Opens the volumes for one leadership session, whose changes end with the signal. */
  readonly openVolumes: (life: AbortSignal) => CloudVolumes;
  readonly stores: VolumeStores;
  readonly nodes: NodeStore;
  readonly inventory: Inventory;
  readonly api: Pick<KubeApi, "create" | "delete" | "get" | "listPage" | "patch">;
  readonly sendToCluster: JournalledSend;
  readonly sendToCloud: JournalledSend;
  /** Neither of these sends requests. */
  readonly isObserving: boolean;
  readonly report: (kind: ReportedKind, object: KubeObject, problem: Problem) => void;
  readonly reportOnLease: (problem: Problem) => void;
  readonly note: Note;
  readonly removals: RemovalMemory;
  /** The same settings as for Nodes: the time between two proofs, and the removal limit. */
  readonly settings: Pick<LifecycleSettings, "confirmAfter" | "removalLimit">;
  /** The namespace of the sidecars' Leases. */
  readonly sidecarNamespace: string;
  /** The `csiProvisionerIdentity` of volumes that this process creates. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly concurrency: number;
  /** Called after each call, with its CSI method name. */
  readonly onCall: (method: CallName, code: StatusCode, durationMs: number) => void;
}

export type CallName =
  | "CreateVolume"
  | "DeleteVolume"
  | "ControllerPublishVolume"
  | "ControllerUnpublishVolume"
  | "ControllerExpandVolume"
  | "CreateSnapshot"
  | "DeleteSnapshot";
