// The PersistentVolume controller of kube-controller-manager: names the provisioner of claims, binds them to their volumes, and releases
// the volumes of claims that are gone.

import type { PersistentVolume, PersistentVolumeClaim } from "../../src/kube/objects.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";

export const driver = "csi.fake.example";
const provisionerKey = "volume.kubernetes.io/storage-provisioner";

export const stored = {
  claims: resourceNamed("persistentvolumeclaims"),
  volumes: resourceNamed("persistentvolumes"),
  classes: resourceNamed("storageclasses"),
  attachments: resourceNamed("volumeattachments"),
  leases: resourceNamed("leases"),
};

export const json = (value: unknown): JsonObject => value as JsonObject;

export class VolumeBinder {
  /** If false, kube-controller-manager does nothing. */
  binds = true;
  readonly #server: ApiServer;
  #isScheduled = false;

  constructor(server: ApiServer) {
    this.#server = server;
    server.store.onWrite(({ storage }) => {
      if (this.#isScheduled || !storage.startsWith("persistentvolume")) return;
      this.#isScheduled = true;
      queueMicrotask(() => {
        this.#isScheduled = false;
        if (this.binds) this.bindAll();
      });
    });
  }

  claims(): readonly PersistentVolumeClaim[] {
    return this.#server.store.list("persistentvolumeclaims") as unknown as readonly PersistentVolumeClaim[];
  }

  volumes(): readonly PersistentVolume[] {
    return this.#server.store.list("persistentvolumes") as unknown as readonly PersistentVolume[];
  }

  changeClaim(name: string, change: (claim: PersistentVolumeClaim) => unknown, subresource = ""): void {
    this.#server.objects.patch(stored.claims, "default", name, subresource, (now) =>
      json(change(now as unknown as PersistentVolumeClaim)),
    );
  }

  changeVolume(name: string, change: (volume: PersistentVolume) => unknown, subresource = ""): void {
    this.#server.objects.patch(stored.volumes, "", name, subresource, (now) =>
      json(change(now as unknown as PersistentVolume)),
    );
  }

  bindAll(): void {
    const claims = this.claims();
    for (const claim of claims) this.#bind(claim);
    const uids = new Set(claims.map(({ metadata }) => metadata.uid));
    for (const volume of this.volumes()) {
      const { uid } = volume.spec?.claimRef ?? {};
      const isReleased = volume.status?.phase === "Released";
      if (uid === undefined || isReleased !== uids.has(uid)) continue;
      // Includes a volume whose claim vanished before they were bound, and binds it again if the claim returns.
      this.#setPhase(volume, isReleased ? "Bound" : "Released");
    }
  }

  #setPhase({ metadata: { name } }: PersistentVolume, phase: string): void {
    this.changeVolume(name, (now) => ({ ...now, status: { ...now.status, phase } }), "status");
  }

  #bind(claim: PersistentVolumeClaim): void {
    const { name, uid, annotations = {} } = claim.metadata;
    if (claim.status?.phase === "Bound") return;
    const volume = this.volumes().find(({ spec }) => spec?.claimRef?.uid === uid);
    if (volume !== undefined) {
      this.#setPhase(volume, "Bound");
      const { name: volumeName } = volume.metadata;
      this.changeClaim(name, (now) => ({ ...now, spec: { ...now.spec, volumeName } }));
      const status = {
        phase: "Bound",
        capacity: volume.spec?.capacity,
        accessModes: volume.spec?.accessModes,
      };
      this.changeClaim(name, (now) => ({ ...now, status }), "status");
    } else if (annotations[provisionerKey] === undefined) {
      this.changeClaim(name, ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, annotations: { ...metadata.annotations, [provisionerKey]: driver } },
      }));
    }
  }
}
