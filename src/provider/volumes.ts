// Volumes: disks that outlive machines. The framework serves CSI, decides which changes are safe and waits for the cloud; the
// provider lists, creates, removes, attaches, detaches and expands. Snapshots are optional.

import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { Instance } from "./instances.ts";
import type { Wait } from "./plan.ts";

/** Where a volume can be used: CSI's topology segments, such as `{ "csi.hetzner.cloud/location": "fsn1" }`. */
export type Segments = Readonly<Record<string, string>>;

/** The machine data that its Node provides without a cloud request. */
export type VolumeMachine = Pick<Instance, "type" | "region" | "zone">;

/**
 * The identity of a cloud's volumes in Kubernetes: the names, ids and keys of the cloud's existing CSI driver, so that its
 * PersistentVolumes keep working. Everything here is pure, and known without credentials: the process on each Node uses it.
 */
export interface VolumeDriver<P extends Fields = Fields> {
  /** The name of the CSI driver, as in `spec.csi.driver` of a PersistentVolume. */
  readonly name: string;
  /** The parameters of a StorageClass. */
  readonly parameters: P;
  /** The parameters by the names of the table, where the cloud's driver takes other spellings. */
  spellParameters?(raw: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** As the cloud's driver does. If unset, an unknown parameter is ignored, with a warning. */
  readonly unknownParameters?: "refused";
  /** Sizes in bytes. A claim gets the next multiple of `step`. */
  readonly sizes: { readonly min: number; readonly step: number; readonly max: number };
  /** The keys of `Segments`. */
  readonly topologyKeys: readonly string[];
  /** Former keys, each with the equivalent one in `topologyKeys`: Nodes get both, and a StorageClass may contain either. */
  readonly topologyAliases?: Readonly<Record<string, string>>;
  /** The id of a machine in CSI, for its provider id; undefined if the machine can have no volumes. */
  nodeIDOf(providerID: string): string | undefined;
  /** The provider id for an id of `nodeIDOf`. */
  providerIDOf(nodeID: string): string;
  /** Undefined while the machine does not show it. */
  topologyOf(machine: VolumeMachine): Segments | undefined;
  /** The number of volumes that a machine can have. */
  limitOf(machine: VolumeMachine): number;
  /** The parameters that the Node needs, as `spec.csi.volumeAttributes` of the PersistentVolume. */
  contextOf(parameters: Values<P>): Readonly<Record<string, string>>;
  /** The data of an attached volume for the Node, as in the VolumeAttachment. */
  publishContextOf(volume: ObservedVolume): Readonly<Record<string, string>>;
  /** Where an attached volume may have its device: the first path that the machine has. */
  devicePathsOf(publishContext: Readonly<Record<string, string>>, volumeID: string): readonly string[];
  /** The device itself, on machines that have none of these paths. A link there may lead to another volume, so it is not followed. */
  deviceNameOf?(publishContext: Readonly<Record<string, string>>): string | undefined;
  /** Options for mkfs of this file system, written as in a shell. Undefined: the disk is never formatted, even when it is blank. */
  formatOptionsOf(context: Readonly<Record<string, string>>, fileSystem: string): string | undefined;
  /**
   * The sources from which the cloud can create volumes, in addition to empty volumes. With `snapshot`, `Volumes.snapshots` is
   * present. Absent: nothing.
   */
  readonly sources?: readonly VolumeSource["kind"][];
}

/** The content of a new volume. The framework has just read it: it is ready, not larger than the volume, and usable in its zone. */
export interface VolumeSource {
  readonly kind: "snapshot" | "volume";
  readonly id: string;
}

/** A volume that should exist. */
export interface DesiredVolume<P extends Fields = Fields> {
  /** Unique in the cluster, and derived from the claim: the same claim has the same name again. */
  readonly name: string;
  /** In bytes: at least `sizes.min`, and a multiple of `sizes.step`. */
  readonly size: number;
  /** Undefined: anywhere. */
  readonly topology: Segments | undefined;
  readonly parameters: Values<P>;
  /** Undefined if the provisioner does not pass it on (`--extra-create-metadata`). */
  readonly claim: { readonly namespace: string; readonly name: string; readonly volume: string } | undefined;
  /** One of `VolumeDriver.sources`. Absent: it is empty. If the cloud creates it with the size of its source, it is expanded. */
  readonly source?: VolumeSource | undefined;
}

/** A volume in the cloud. */
export interface ObservedVolume {
  /** The cloud's id: `volumeHandle` of its PersistentVolume. */
  readonly id: string;
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Empty: it can be used everywhere. */
  readonly topology: Segments;
  /** The machines that it is attached to, by `VolumeDriver.nodeIDOf`. */
  readonly attachedTo: readonly string[];
  /** For `publishContextOf`: the path of the device, or the data to derive it. */
  readonly device: string;
  /**
   * `changing`: the cloud is still creating or changing it. The future state is not visible before that has ended. `failed`: the cloud
   * could not create it.
   */
  readonly state: "ready" | "changing" | "failed";
  /** The cloud refuses to delete it. */
  readonly isProtected?: true | undefined;
}

/**
 * Done, or accepted: `operation` is the id for `Cloud.pending`. Without an operation, the volume is `changing` until the change has
 * ended.
 */
export type VolumeOutcome =
  | { readonly done: true }
  | ({ readonly done: false; readonly operation?: string | undefined } & Wait);

/**
 * The volumes of a cloud. A volume is user data: the framework looks it up by id before it changes it and afterwards, and takes only a
 * definite answer for its absence.
 */
export interface Volumes<P extends Fields = Fields> {
  /** Lists all volumes of the account, page by page. Throws when a page is missing. */
  list(call: Call): AsyncIterable<readonly ObservedVolume[]>;
  /** Reads one volume. Undefined is a definite answer: it does not exist. An id that the cloud cannot have does not exist either. */
  get(id: string, call: Call): Promise<ObservedVolume | undefined>;
  /** Throws `conflict` if another volume has the name, and `quota` if the cloud has no room for it. */
  create(desired: DesiredVolume<P>, call: Call): Promise<VolumeOutcome & { readonly id: string }>;
  /**
   * Succeeds too if the volume no longer exists. Throws if it is attached: it must never detach it. So it does if its snapshots
   * need it.
   */
  remove(volume: ObservedVolume, call: Call): Promise<VolumeOutcome>;
  /** Throws `not-found` if the machine does not exist, and `quota` if it has as many volumes as it can have. */
  attach(volume: ObservedVolume, machine: string, call: Call): Promise<VolumeOutcome>;
  /** The framework has just read that it is attached to this machine. */
  detach(volume: ObservedVolume, machine: string, call: Call): Promise<VolumeOutcome>;
  /** To a larger size, even while it is attached. */
  expand(volume: ObservedVolume, size: number, call: Call): Promise<VolumeOutcome>;
  /** For clouds with `snapshot` among `VolumeDriver.sources`. */
  readonly snapshots?: Snapshots | undefined;
}

/** A snapshot that should exist. */
export interface DesiredSnapshot {
  /** Unique in the cluster, and derived from the VolumeSnapshot: the same one has the same name again. */
  readonly name: string;
  /** The framework has just read it. It may be attached, and in use. */
  readonly volume: ObservedVolume;
}

/** The data of a volume at one moment. */
export interface ObservedSnapshot {
  /** The cloud's id: `snapshotHandle` of its VolumeSnapshotContent. */
  readonly id: string;
  readonly name: string;
  /** Its volume, which may be gone. Empty if the cloud no longer shows it. */
  readonly volumeID: string;
  /** In bytes: a volume that is created from it is not smaller. */
  readonly size: number;
  readonly createdAt: Date;
  /** Where volumes can be created from it. Undefined: everywhere. */
  readonly topology?: Segments | undefined;
  /**
   * `creating`: data that is written to the volume now may still become part of it. `uploading`: its data is final, and no volume can be
   * created from it yet. `failed`: it never will be.
   */
  readonly state: "creating" | "uploading" | "ready" | "failed";
}

/** Snapshots are user data, too: the framework looks them up as it does volumes. */
export interface Snapshots {
  /** Lists all snapshots of volumes of the account, page by page. Throws when a page is missing. */
  list(call: Call): AsyncIterable<readonly ObservedSnapshot[]>;
  /** Reads one snapshot. Undefined is a definite answer: it does not exist. An id that the cloud cannot have does not exist either. */
  get(id: string, call: Call): Promise<ObservedSnapshot | undefined>;
  create(desired: DesiredSnapshot, call: Call): Promise<VolumeOutcome & { readonly id: string }>;
  /** Succeeds too if the snapshot no longer exists. */
  remove(snapshot: ObservedSnapshot, call: Call): Promise<VolumeOutcome>;
}
