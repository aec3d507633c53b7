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
 * PersistentVolumes keep working. All members are pure and need no credentials, because the process on each Node uses them.
 */
export interface VolumeDriver<P extends Fields = Fields> {
  /** The name of the CSI driver, as in `spec.csi.driver` of a PersistentVolume. */
  readonly name: string;
  /** The parameters of a StorageClass. */
  readonly parameters: P;
  /** Converts the parameters to the names of the table, if the cloud's driver accepts other spellings. */
  spellParameters?(raw: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** Rejects unknown parameters, as the cloud's driver does. If unset, an unknown parameter is ignored with a warning. */
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
  /** Undefined while the machine does not show its topology. */
  topologyOf(machine: VolumeMachine): Segments | undefined;
  /** The maximum number of volumes for a machine. */
  limitOf(machine: VolumeMachine): number;
  /** The parameters that the Node needs, as `spec.csi.volumeAttributes` of the PersistentVolume. */
  contextOf(parameters: Values<P>): Readonly<Record<string, string>>;
  /** The data of an attached volume for the Node, as in the VolumeAttachment. */
  publishContextOf(volume: ObservedVolume): Readonly<Record<string, string>>;
  /** The possible device paths of an attached volume: the first path that exists on the machine is used. */
  devicePathsOf(publishContext: Readonly<Record<string, string>>, volumeID: string): readonly string[];
  /**
   * The name of the device, for machines that have none of these paths. A link at this path may lead to another volume, so links
   * are not followed.
   */
  deviceNameOf?(publishContext: Readonly<Record<string, string>>): string | undefined;
  /**
   * Options for mkfs of this file system, written as in a shell. If undefined, the disk is never formatted, even when it is
   * blank.
   */
  formatOptionsOf(context: Readonly<Record<string, string>>, fileSystem: string): string | undefined;
  /**
   * The sources from which the cloud can create volumes, in addition to empty volumes. With `snapshot`, `Volumes.snapshots` is
   * set. If unset, there are none.
   */
  readonly sources?: readonly VolumeSource["kind"][];
}

/**
 * The content of a new volume. The framework has just read the source: it is ready, not larger than the volume, and usable in
 * the volume's zone.
 */
export interface VolumeSource {
  readonly kind: "snapshot" | "volume";
  readonly id: string;
}

/** A volume that should exist. */
export interface DesiredVolume<P extends Fields = Fields> {
  /** Unique in the cluster, and derived from the claim, so that the same claim always has the same name. */
  readonly name: string;
  /** The size in bytes: at least `sizes.min`, and a multiple of `sizes.step`. */
  readonly size: number;
  /** Undefined for any place. */
  readonly topology: Segments | undefined;
  readonly parameters: Values<P>;
  /** Undefined if the provisioner does not pass the claim (`--extra-create-metadata`). */
  readonly claim: { readonly namespace: string; readonly name: string; readonly volume: string } | undefined;
  /**
   * One of `VolumeDriver.sources`. If unset, the volume is empty. If the cloud creates the volume with the size of its source,
   * it is expanded.
   */
  readonly source?: VolumeSource | undefined;
}

/** A volume in the cloud. */
export interface ObservedVolume {
  /** The cloud's id: `volumeHandle` of its PersistentVolume. */
  readonly id: string;
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Empty if the volume can be used everywhere. */
  readonly topology: Segments;
  /** The machines to which the volume is attached, by `VolumeDriver.nodeIDOf`. */
  readonly attachedTo: readonly string[];
  /** The device's path for `publishContextOf`, or the data from which the path is derived. */
  readonly device: string;
  /**
   * `changing`: the cloud is still creating or changing the volume, and its future state is not visible yet. `failed`: the cloud
   * could not create it.
   */
  readonly state: "ready" | "changing" | "failed";
  /** Set if the cloud rejects its deletion. */
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
 * The volumes of a cloud. A volume is user data, so the framework looks it up by id before and after each change, and accepts
 * only a definite answer as proof of its absence.
 */
export interface Volumes<P extends Fields = Fields> {
  /** Lists all volumes of the account, page by page. Throws when a page is missing. */
  list(call: Call): AsyncIterable<readonly ObservedVolume[]>;
  /**
   * Reads one volume. Undefined is a definite answer: the volume does not exist. The same applies to an id that the cloud cannot
   * have.
   */
  get(id: string, call: Call): Promise<ObservedVolume | undefined>;
  /** Throws `conflict` if another volume has the name, and `quota` if the cloud has no space for the volume. */
  create(desired: DesiredVolume<P>, call: Call): Promise<VolumeOutcome & { readonly id: string }>;
  /**
   * Succeeds even if the volume does not exist. Throws if the volume is attached, because this must never detach it, or if its
   * snapshots need it.
   */
  remove(volume: ObservedVolume, call: Call): Promise<VolumeOutcome>;
  /** Throws `not-found` if the machine does not exist, and `quota` if it has its maximum number of volumes. */
  attach(volume: ObservedVolume, machine: string, call: Call): Promise<VolumeOutcome>;
  /** The framework has just read that the volume is attached to this machine. */
  detach(volume: ObservedVolume, machine: string, call: Call): Promise<VolumeOutcome>;
  /** Expands the volume, even while it is attached. */
  expand(volume: ObservedVolume, size: number, call: Call): Promise<VolumeOutcome>;
  /** For clouds with `snapshot` among `VolumeDriver.sources`. */
  readonly snapshots?: Snapshots | undefined;
}

/** A snapshot that should exist. */
export interface DesiredSnapshot {
  /** Unique in the cluster, and derived from the VolumeSnapshot, so that the same one always has the same name. */
  readonly name: string;
  /** The volume, as the framework has just read it. It may be attached and in use. */
  readonly volume: ObservedVolume;
}

/** The data of a volume at one point in time. */
export interface ObservedSnapshot {
  /** The cloud's id: `snapshotHandle` of its VolumeSnapshotContent. */
  readonly id: string;
  readonly name: string;
  /** The volume of the snapshot, which may be gone. Empty if the cloud no longer shows it. */
  readonly volumeID: string;
  /** The size in bytes. A volume that is created from the snapshot is at least as large. */
  readonly size: number;
  readonly createdAt: Date;
  /** Where volumes can be created from the snapshot; undefined for everywhere. */
  readonly topology?: Segments | undefined;
  /**
   * `creating`: data that is written to the volume now may still become part of the snapshot. `uploading`: the data is final,
   * but no volume can be created from it yet. `failed`: no volume can ever be created from it.
   */
  readonly state: "creating" | "uploading" | "ready" | "failed";
}

/** Snapshots are user data, so the framework looks them up like volumes. */
export interface Snapshots {
  /** Lists all volume snapshots in the account, page by page. Throws when a page is missing. */
  list(call: Call): AsyncIterable<readonly ObservedSnapshot[]>;
  /**
   * Reads one snapshot. Undefined is a definite answer: the snapshot does not exist. The same applies to an id that the cloud
   * cannot have.
   */
  get(id: string, call: Call): Promise<ObservedSnapshot | undefined>;
  create(desired: DesiredSnapshot, call: Call): Promise<VolumeOutcome & { readonly id: string }>;
  /** Succeeds even if the snapshot does not exist. */
  remove(snapshot: ObservedSnapshot, call: Call): Promise<VolumeOutcome>;
}
