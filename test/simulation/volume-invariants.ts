// Checks the invariants about volumes whenever the simulated cloud changes one, against the true state of the cloud and of the API server.
//
// 30  The volume of a claim that exists or of another PersistentVolume is never deleted, nor one that is to be kept. Of claims that
//     only disappeared, at most max(2, 20 %) of the volumes are deleted in 10 minutes.
//     A volume is never detached from a machine that writes to it, nor does its VolumeAttachment say so while it is attached.
//  6  A claim never gets a second volume.

import { bytesOf } from "../../src/core/quantity.ts";
import type { PersistentVolume, VolumeAttachment } from "../../src/kube/objects.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/object-store.ts";
import { attacherFinalizer, nodeIDKey } from "../../src/volumes/controller/names.ts";
import { driver } from "../support/volume-binder.ts";
import { AbsenceCount } from "./absence-count.ts";
import type { VolumePods } from "./volume-pods.ts";
import type { World } from "./world.ts";

const gibibyte = 2 ** 30;
const uidIn = (volumeName: string): string => volumeName.replace(/^pvc-/, "");
/** Between the last look at the API server and the arrival of a request at the cloud. */
const inFlight = 30_000;

export class VolumeInvariants {
  readonly #world: World;
  readonly #pods: VolumePods;
  readonly #count: AbsenceCount;
  /** Uids of claims that vanished without a deletion. */
  readonly #vanished = new Set<string>();
  readonly #returnedAt = new Map<string, number>();
  /** Since when the volumes of these claims are to be kept, by uid. */
  readonly #kept = new Map<string, number>();
  /** Uids of claims that had a PersistentVolume. */
  readonly #hadVolume = new Set<string>();
  /** Since when these PersistentVolumes exist, by uid. */
  readonly #since = new Map<string, number>();
  /** Uids of claims whose volume was deleted while they had vanished. */
  readonly lost = new Set<string>();
  /** Writes of replicas to claims, PersistentVolumes and VolumeAttachments, and changes of volumes. */
  changes = 0;

  constructor(world: World, pods: VolumePods) {
    const { cloud, clock, server, history } = world;
    this.#world = world;
    this.#pods = pods;
    this.#count = new AbsenceCount("volumes", clock, (text) => world.invariants.violated(30, text));
    const { volumes } = cloud;
    const { create, change, remove } = volumes;
    volumes.create = (spec) => {
      this.#checkCreation(spec.name ?? "");
      const created = create.call(volumes, spec);
      this.changes += 1;
      return created;
    };
    volumes.change = (id, spec) => {
      const before = volumes.list().find((one) => one.id === id);
      const changed = change.call(volumes, id, spec);
      this.changes += 1;
      const from = before?.machine ?? undefined;
      if (spec.machine !== undefined && from !== undefined && spec.machine !== from)
        this.#checkWriter(id, from);
      return changed;
    };
    volumes.remove = (id) => {
      const before = volumes.list().find((one) => one.id === id);
      this.#count.observe(volumes.list().length);
      remove.call(volumes, id);
      this.changes += 1;
      if (before !== undefined) this.#checkDeletion(id, uidIn(before.name));
    };
    server.onWrite((written) => {
      this.#follow(written);
      if (history.writer !== undefined) this.#checkRelease(written);
      const { storage } = written;
      if (history.writer !== undefined && /^(persistentvolume|volumeattachment)/.test(storage))
        this.changes += 1;
    });
  }

  vanishes(uid: string): void {
    this.#vanished.add(uid);
  }

  returned(uid: string): void {
    this.#vanished.delete(uid);
    this.#returnedAt.set(uid, this.#world.clock.monotonic());
  }

  released(): void {
    this.#count.released();
  }

  /** A replica takes the finalizer off a VolumeAttachment. */
  #checkRelease({ storage, object, before: past, type }: StoredChange): void {
    if (storage !== "volumeattachments") return;
    const before = past as unknown as VolumeAttachment | undefined;
    const has = (one: Pick<VolumeAttachment, "metadata"> | undefined): boolean =>
      one?.metadata.finalizers?.includes(attacherFinalizer(driver)) === true;
    if (!has(before) || (type !== "DELETED" && has(object as unknown as VolumeAttachment))) return;
    const { metadata, spec } = before as VolumeAttachment;
    const handle = this.#pods.handleOf(spec.source.persistentVolumeName ?? "");
    const { machine } = this.#world.cloud.volumes.list().find(({ id }) => id === handle) ?? {};
    if (machine !== undefined && machine === metadata.annotations?.[nodeIDKey])
      this.#world.invariants.violated(
        30,
        `${metadata.name} was released, and ${handle} is attached to ${machine}`,
      );
  }

  #follow({ storage, type, object }: StoredChange): void {
    if (storage !== "persistentvolumes" || type === "DELETED") return;
    if (!this.#since.has(object.metadata.uid))
      this.#since.set(object.metadata.uid, this.#world.clock.monotonic());
    const { spec } = object as unknown as PersistentVolume;
    const uid = spec?.claimRef?.uid ?? "";
    this.#hadVolume.add(uid);
    if (spec?.persistentVolumeReclaimPolicy !== "Retain") this.#kept.delete(uid);
    else if (!this.#kept.has(uid)) this.#kept.set(uid, this.#world.clock.monotonic());
  }

  #checkCreation(name: string): void {
    const uid = uidIn(name);
    const { cloud } = this.#world;
    const found = this.#pods.binder.volumes().find(({ spec }) => spec?.claimRef?.uid === uid);
    const handle = found?.spec?.csi?.volumeHandle;
    if (cloud.volumes.list().some(({ id }) => id === handle))
      this.#world.invariants.violated(
        6,
        `another volume for claim ${uid} was asked for, which has ${handle}`,
      );
  }

  #checkWriter(id: string, machine: string): void {
    const writer = this.#pods.mounts.find((mount) => mount.handle === id && mount.machine === machine);
    if (writer !== undefined)
      this.#world.invariants.violated(
        30,
        `volume ${id} of ${writer.claim} was detached from machine ${machine}, which writes to it`,
      );
  }

  #checkDeletion(id: string, uid: string): void {
    const { invariants, absence } = this.#world;
    const keptSince = this.#kept.get(uid);
    if (keptSince !== undefined && absence.known.mustKnow(keptSince))
      invariants.violated(30, `volume ${id} of ${uid} was deleted although it is to be kept`);
    const now = this.#world.clock.monotonic();
    const saved = this.#pods.binder.volumes().find(({ metadata, spec }) => {
      const isOther = spec?.csi?.volumeHandle === id && spec.claimRef?.uid !== uid;
      return isOther && now - (this.#since.get(metadata.uid) ?? now) > inFlight;
    });
    if (saved !== undefined)
      invariants.violated(30, `volume ${id} of ${uid} was deleted although ${saved.metadata.name} has it`);
    const returnedAt = this.#returnedAt.get(uid);
    const mayBeGone = returnedAt !== undefined && !absence.known.mustKnow(returnedAt);
    const claim = this.#pods.binder.claims().find(({ metadata }) => metadata.uid === uid);
    if (this.#vanished.has(uid) || (mayBeGone && claim !== undefined)) {
      this.lost.add(uid);
      this.#count.add(uid, `${id} of the vanished ${uid}`);
    } else if (claim !== undefined) {
      invariants.violated(30, `volume ${id} of the claim ${claim.metadata.name} was deleted`);
    }
  }

  /** All deviations of volumes; empty once everything has converged. */
  deviations(): readonly string[] {
    const { cloud } = this.#world;
    const problems: string[] = [];
    const inCloud = new Map(cloud.volumes.list().map((volume) => [volume.id, volume]));
    const claims = new Map(this.#pods.binder.claims().map((claim) => [claim.metadata.uid, claim]));
    const volumes = this.#pods.binder.volumes();
    for (const [uid, { metadata, status, spec }] of claims) {
      if (this.lost.has(uid)) continue;
      const volume = volumes.find(({ metadata: { name } }) => name === spec?.volumeName);
      const found = inCloud.get(volume?.spec?.csi?.volumeHandle ?? "");
      const asked = bytesOf(spec?.resources?.requests?.["storage"] ?? "") ?? 0;
      const capacity = bytesOf(volume?.spec?.capacity?.["storage"] ?? "") ?? 0;
      if (metadata.deletionTimestamp !== undefined) problems.push(`${metadata.name} is still being deleted`);
      else if (status?.phase !== "Bound") problems.push(`${metadata.name} is ${status?.phase}`);
      else if (found === undefined) problems.push(`${metadata.name} has no volume in the cloud`);
      else if (found.size * gibibyte < asked)
        problems.push(`${metadata.name} has ${found.size}Gi, not ${asked}`);
      else if (found.size * gibibyte < capacity)
        problems.push(`${volume?.metadata.name} has ${found.size}Gi, and its capacity is ${capacity}`);
    }
    for (const { metadata, spec, status } of volumes) {
      const isNeeded = claims.has(spec?.claimRef?.uid ?? "");
      if (metadata.deletionTimestamp !== undefined) problems.push(`${metadata.name} is still being deleted`);
      // Only the attach/detach controller deletes a VolumeAttachment that a restored API server shows again.
      const isAttached = this.#pods
        .attachments()
        .some(
          (each) =>
            each.spec.source.persistentVolumeName === metadata.name &&
            each.metadata.deletionTimestamp === undefined,
        );
      if (!isNeeded && !isAttached && spec?.persistentVolumeReclaimPolicy === "Delete")
        problems.push(`${metadata.name} is left over (${status?.phase})`);
    }
    for (const { id, name } of inCloud.values()) {
      const hasVolume = volumes.some(({ spec }) => spec?.csi?.volumeHandle === id);
      const uid = uidIn(name);
      // Known: a claim that was deleted before the PersistentVolume was written leaves its volume behind.
      const isKnown = !this.#hadVolume.has(uid) && !claims.has(uid);
      if (!hasVolume && !isKnown) problems.push(`volume ${id} of ${name} is left over`);
    }
    for (const { claim, node, volume } of this.#pods.pods) {
      if (this.lost.has(uidIn(volume)) || this.#world.machineNamed(node) === undefined) continue;
      const isMounted = this.#pods.mounts.some((mount) => mount.claim === claim && mount.node === node);
      if (!isMounted) problems.push(`the pod of ${claim} does not start on ${node}`);
    }
    for (const { metadata, spec, status } of this.#pods.attachments()) {
      const volume = volumes.find(({ metadata: { name } }) => name === spec.source.persistentVolumeName);
      const isLost = this.lost.has(volume?.spec?.claimRef?.uid ?? "");
      const isLeaving = metadata.deletionTimestamp !== undefined;
      // From a machine that is gone it is detached, after a release if many are gone.
      if (isLost || (!isLeaving && this.#world.machineNamed(spec.nodeName) === undefined)) continue;
      const handle = volume?.spec?.csi?.volumeHandle ?? "";
      const machine = this.#world.node(spec.nodeName)?.spec.providerID?.replace("fake://", "");
      const { attached, attachError, detachError } = status ?? {};
      if (isLeaving) problems.push(`${metadata.name} is not detached: ${detachError?.message}`);
      else if (attached !== true) problems.push(`${metadata.name} is not attached: ${attachError?.message}`);
      else if (machine !== undefined && inCloud.get(handle)?.machine !== machine)
        problems.push(`volume ${handle} is attached to ${inCloud.get(handle)?.machine}, not ${machine}`);
    }
    return problems;
  }
}
