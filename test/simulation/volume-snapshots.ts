// Snapshots: what users do with them, and wrong cloud answers about them. Checks the invariants at each change of the cloud.
//
// 30  A snapshot is deleted only after a user has deleted its VolumeSnapshot, and never if it is to be kept.
// 31  A VolumeSnapshot that has a snapshot never gets another one.
// 32  A volume that is created for a claim from a VolumeSnapshot has the data of its snapshot.

import { seconds } from "../../src/core/brand.ts";
import type { VolumeSnapshot, VolumeSnapshotContent } from "../../src/kube/volume-snapshots.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { driver, json } from "../support/volume-binder.ts";
import type { VolumePods } from "./volume-pods.ts";
import type { World } from "./world.ts";

const apiVersion = "snapshot.storage.k8s.io/v1";
const stored = {
  snapshots: resourceNamed("volumesnapshots"),
  classes: resourceNamed("volumesnapshotclasses"),
};
/** Below the confirmation time of 30 s. */
const longestLie = 18_000;

const uidIn = (name: string): string => name.replace(/^snapshot-/, "");

export class VolumeSnapshots {
  readonly #world: World;
  readonly #pods: VolumePods;
  readonly #random: Random;
  /** The uids of VolumeSnapshots that a user has deleted, and of those that must be kept. */
  readonly #deleted = new Set<string>();
  readonly #kept = new Set<string>();
  /** Claims that are created from a VolumeSnapshot, which is not deleted before they are bound. */
  readonly #restores = new Map<string, string>();
  readonly #wereHidden = new Set<string>();
  #count = 0;
  #isActive = true;
  #cancel: () => void = () => undefined;

  constructor(world: World, pods: VolumePods, seed: number) {
    this.#world = world;
    this.#pods = pods;
    this.#random = seededRandom(seed ^ 0x5a95);
    for (const deletionPolicy of ["Delete", "Retain"]) {
      const metadata = { name: deletionPolicy.toLowerCase() };
      const draft = { apiVersion, kind: "VolumeSnapshotClass", metadata, driver, deletionPolicy };
      world.server.objects.create(stored.classes, "", json(draft));
    }
    this.#checkChanges();
    this.#schedule();
  }

  /** Begins no new actions; those that were begun are completed. */
  settle(): void {
    this.#isActive = false;
  }

  stop(): void {
    this.#cancel();
  }

  #checkChanges(): void {
    const { cloud, invariants } = this.#world;
    const { snapshots, volumes } = cloud;
    const { create, remove } = snapshots;
    snapshots.create = (spec) => {
      const uid = uidIn(spec.name ?? "");
      const handle = this.#contents().find(({ spec: of }) => of.volumeSnapshotRef.uid === uid)?.status
        ?.snapshotHandle;
      if (snapshots.list().some(({ id }) => id === handle))
        invariants.violated(
          31,
          `another snapshot of VolumeSnapshot ${uid} was asked for, which has ${handle}`,
        );
      return create.call(snapshots, spec);
    };
    snapshots.remove = (id) => {
      const uid = uidIn(snapshots.list().find((one) => one.id === id)?.name ?? "");
      remove.call(snapshots, id);
      if (this.#kept.has(uid))
        invariants.violated(30, `snapshot ${id} was deleted although it is to be kept`);
      else if (!this.#deleted.has(uid))
        invariants.violated(30, `snapshot ${id} of VolumeSnapshot ${uid} was deleted`);
    };
    const createVolume = volumes.create;
    volumes.create = (spec) => {
      const claim = this.#pods.binder.claims().find(({ metadata }) => `pvc-${metadata.uid}` === spec.name);
      const from = this.#restores.get(claim?.metadata.name ?? "");
      const expected =
        from === undefined ? "" : snapshots.list().find(({ id }) => id === this.#handleOf(from))?.data;
      if (claim !== undefined && expected !== undefined && expected !== (spec.data ?? ""))
        invariants.violated(32, `the volume for ${claim.metadata.name} has ${spec.data}, not ${expected}`);
      return createVolume.call(volumes, spec);
    };
  }

  #all(): readonly VolumeSnapshot[] {
    return this.#world.server.store.list("volumesnapshots") as unknown as readonly VolumeSnapshot[];
  }

  #contents(): readonly VolumeSnapshotContent[] {
    return this.#world.server.store.list(
      "volumesnapshotcontents",
    ) as unknown as readonly VolumeSnapshotContent[];
  }

  #handleOf(name: string): string | undefined {
    return this.#contents().find(({ spec }) => spec.volumeSnapshotRef.name === name)?.status?.snapshotHandle;
  }

  #pick<T>(all: readonly T[]): T | undefined {
    return all[Math.floor(this.#random.fraction() * all.length)];
  }

  #schedule(): void {
    this.#cancel = this.#world.clock.after(seconds(5), () => {
      this.#schedule();
      this.#write();
      if (!this.#isActive) return;
      const dice = this.#random.fraction();
      if (dice < 0.04) this.#create();
      else if (dice < 0.06) this.#delete();
      else if (dice < 0.08) this.#restore();
      else if (dice < 0.1) this.#lie();
      else if (dice < 0.13) this.#fault();
    });
  }

  /** Each machine writes continuously. */
  #write(): void {
    const { volumes, snapshots } = this.#world.cloud;
    const existing = new Set(volumes.list().map(({ id }) => id));
    for (const { handle } of this.#pods.mounts) {
      if (!existing.has(handle)) continue;
      const data = `data-${this.#count++}`;
      volumes.write(handle, data);
      snapshots.write(handle, data);
    }
  }

  #create(): void {
    const claim = this.#pick(this.#pods.binder.claims().filter(({ status }) => status?.phase === "Bound"));
    if (claim === undefined) return;
    const className = this.#random.fraction() < 0.7 ? "delete" : "retain";
    const name = `snap-${this.#count++}`;
    this.#world.history.log(`the VolumeSnapshot ${name} of ${claim.metadata.name} is created (${className})`);
    const source = { persistentVolumeClaimName: claim.metadata.name };
    const spec = { source, volumeSnapshotClassName: className };
    const draft = { apiVersion, kind: "VolumeSnapshot", metadata: { name, namespace: "default" }, spec };
    const { objects } = this.#world.server;
    const made = objects.create(stored.snapshots, "default", json(draft)) as unknown as VolumeSnapshot;
    if (className === "retain") this.#kept.add(made.metadata.uid);
  }

  #delete(): void {
    for (const claim of [...this.#restores.keys()])
      if (this.#pods.claim(claim)?.status?.phase === "Bound") this.#restores.delete(claim);
    const inUse = new Set(this.#restores.values());
    const snapshot = this.#pick(
      this.#all().filter(
        ({ metadata }) => metadata.deletionTimestamp === undefined && !inUse.has(metadata.name),
      ),
    );
    if (snapshot === undefined) return;
    this.#world.history.log(`the VolumeSnapshot ${snapshot.metadata.name} is deleted`);
    this.#deleted.add(snapshot.metadata.uid);
    this.#world.server.objects.delete(stored.snapshots, "default", snapshot.metadata.name);
  }

  #restore(): void {
    const snapshot = this.#pick(
      this.#all().filter(
        ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.readyToUse === true,
      ),
    );
    if (snapshot === undefined) return;
    const { name } = snapshot.metadata;
    const claim = `restored-${this.#count++}`;
    this.#restores.set(claim, name);
    const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name };
    this.#pods.create(claim, { dataSource, size: snapshot.status?.restoreSize ?? "1Gi" });
  }

  #lie(): void {
    const { cloud, cloudLies, history } = this.#world;
    const hidden = this.#pick(cloud.snapshots.list().filter(({ id }) => !this.#wereHidden.has(id)));
    if (hidden === undefined || cloudLies.snapshots.isLying) return;
    const from = this.#pick(["both", "listing", "lookup"] as const) ?? "both";
    this.#wereHidden.add(hidden.id);
    history.log(`cloud: hides snapshot ${hidden.id} (${from})`);
    cloudLies.snapshots.add(
      { kind: "missing", ids: [hidden.id], from },
      this.#random.fraction() * longestLie,
    );
  }

  #fault(): void {
    const operation = this.#pick([
      "POST /snapshots",
      "DELETE /snapshots/{id}",
      "GET /snapshots/{id}",
    ] as const);
    const planned = this.#pick([
      { kind: "lost-answer" },
      { kind: "false-error", status: 500 },
      { kind: "false-error", status: 409 },
      { kind: "status", status: 404 },
      { kind: "status", status: 423 },
    ] as const);
    if (operation === undefined || planned === undefined) return;
    const all = { ...planned, operation, calls: 1 };
    this.#world.history.log(`cloud: ${JSON.stringify(all)}`);
    this.#world.cloud.faults.add(all);
  }

  /**
   * A user deletes the claims whose VolumeSnapshot was deleted: a restored API server may show the
   * VolumeSnapshot again without its snapshot, and the claims would wait forever.
   */
  deleteClaimsWithoutSource(): void {
    const deleted = this.#all().filter(({ metadata }) => this.#deleted.has(metadata.uid));
    const names = new Set<string | undefined>(deleted.map(({ metadata }) => metadata.name));
    for (const { metadata, spec, status } of this.#pods.binder.claims())
      if (status?.phase !== "Bound" && names.has(spec?.dataSource?.name)) this.#pods.delete(metadata.name);
  }

  /** All deviations of snapshots; empty once everything has converged. */
  deviations(): readonly string[] {
    const { cloud } = this.#world;
    const volumes = new Set(cloud.volumes.list().map(({ id }) => id));
    const contents = this.#contents();
    const problems = this.#all().flatMap((snapshot) => {
      const { name, uid, deletionTimestamp } = snapshot.metadata;
      const content = contents.find(({ spec }) => spec.volumeSnapshotRef.uid === uid);
      const claim = this.#pods.claim(snapshot.spec.source.persistentVolumeClaimName ?? "");
      if (deletionTimestamp !== undefined) return [`${name} is still being deleted`];
      // An older API server state was restored, in which the VolumeSnapshot was not deleted yet.
      if (this.#deleted.has(uid)) return [];
      // The PersistentVolume of a claim that vanished for a long time is deleted, and the claim cannot get another one.
      const volume = this.#pods.binder
        .volumes()
        .find(({ metadata }) => metadata.name === claim?.spec?.volumeName);
      const handle =
        content === undefined ? volume?.spec?.csi?.volumeHandle : content.spec.source.volumeHandle;
      const canBeTaken = volumes.has(handle ?? "");
      if (snapshot.status?.readyToUse !== true)
        return canBeTaken ? [`${name} is not ready: ${snapshot.status?.error?.message}`] : [];
      const isThere = cloud.snapshots.list().some(({ id }) => id === content?.status?.snapshotHandle);
      return isThere ? [] : [`${name} has no snapshot in the cloud`];
    });
    const handles = new Set(contents.map(({ status }) => status?.snapshotHandle));
    // Others lost their VolumeSnapshotContent in a restored API server.
    const left = cloud.snapshots
      .list()
      .filter(
        ({ id, name }) => !handles.has(id) && this.#deleted.has(uidIn(name)) && !this.#kept.has(uidIn(name)),
      );
    return [...problems, ...left.map(({ id, name }) => `snapshot ${id} of ${name} is left over`)];
  }
}
