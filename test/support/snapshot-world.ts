// A `VolumeWorld` with the CRDs of snapshots, and the actions of users on them.

import type { VolumeSnapshot, VolumeSnapshotContent } from "../../src/kube/volume-snapshots.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { ServiceWorldOptions } from "./service-world-options.ts";
import { driver, json } from "./volume-binder.ts";
import { VolumeWorld } from "./volume-world.ts";

const apiVersion = "snapshot.storage.k8s.io/v1";
const stored = {
  snapshots: resourceNamed("volumesnapshots"),
  contents: resourceNamed("volumesnapshotcontents"),
  classes: resourceNamed("volumesnapshotclasses"),
};

export class SnapshotWorld extends VolumeWorld {
  constructor(options: ServiceWorldOptions = {}) {
    super(options);
    this.createSnapshotClass("fake", {});
  }

  createSnapshotClass(name: string, fields: JsonObject): void {
    const draft = { apiVersion, kind: "VolumeSnapshotClass", metadata: { name }, driver };
    this.server.objects.create(stored.classes, "", json({ ...draft, deletionPolicy: "Delete", ...fields }));
  }

  snapshot(name: string, claim: string, spec: JsonObject = { volumeSnapshotClassName: "fake" }): void {
    const metadata = { name, namespace: "default" };
    const source = { persistentVolumeClaimName: claim };
    const draft = { apiVersion, kind: "VolumeSnapshot", metadata, spec: { source, ...spec } };
    this.server.objects.create(stored.snapshots, "default", json(draft));
  }

  createContent(name: string, spec: JsonObject): void {
    const draft = { apiVersion, kind: "VolumeSnapshotContent", metadata: { name } };
    this.server.objects.create(
      stored.contents,
      "",
      json({ ...draft, spec: { driver, deletionPolicy: "Delete", ...spec } }),
    );
  }

  changeContent(name: string, change: (content: VolumeSnapshotContent) => unknown, subresource = ""): void {
    this.server.objects.patch(stored.contents, "", name, subresource, (now) =>
      json(change(now as unknown as VolumeSnapshotContent)),
    );
  }

  changeSnapshot(name: string, change: (snapshot: VolumeSnapshot) => unknown, subresource = ""): void {
    this.server.objects.patch(stored.snapshots, "default", name, subresource, (now) =>
      json(change(now as unknown as VolumeSnapshot)),
    );
  }

  deleteSnapshot(name: string): void {
    this.server.objects.delete(stored.snapshots, "default", name);
  }

  deleteContent(name: string): void {
    this.server.objects.delete(stored.contents, "", name);
  }

  findSnapshot(name: string): VolumeSnapshot | undefined {
    return this.server.store.get("volumesnapshots", "default", name) as unknown as VolumeSnapshot | undefined;
  }

  getSnapshot(name: string): VolumeSnapshot {
    const found = this.findSnapshot(name);
    if (found === undefined) throw new Error(`There is no VolumeSnapshot ${name}.`);
    return found;
  }

  contents(): readonly VolumeSnapshotContent[] {
    return this.server.store.list("volumesnapshotcontents") as unknown as readonly VolumeSnapshotContent[];
  }

  isReady(name: string): boolean {
    return this.findSnapshot(name)?.status?.readyToUse === true;
  }

  /** A claim that is created from a snapshot or another claim. */
  restore(name: string, kind: "VolumeSnapshot" | "PersistentVolumeClaim", from: string, size = "1Gi"): void {
    const dataSource =
      kind === "VolumeSnapshot"
        ? { apiGroup: "snapshot.storage.k8s.io", kind, name: from }
        : { kind, name: from };
    this.claim(name, { size, spec: { dataSource } });
  }

  /** Writes data as a pod does. */
  write(claim: string, data: string): void {
    const handle = this.volumeOf(claim).spec?.csi?.volumeHandle ?? "";
    this.cloud.volumes.write(handle, data);
    this.cloud.snapshots.write(handle, data);
  }

  dataOf(claim: string): string {
    return this.cloud.volumes.get(this.volumeOf(claim).spec?.csi?.volumeHandle ?? "").data;
  }
}
