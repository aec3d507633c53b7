// Volume faults that take several steps: the cloud hides all of them, a claim is deleted and created again while the cloud changes its
// volume, an administrator saves the volume of a deleted claim, and a tenant holds a Lease with the name of a sidecar's.

import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { PersistentVolumeClaim } from "../../src/kube/objects.ts";
import { sidecarLeases } from "../../src/volumes/controller/names.ts";
import { driver, json, stored } from "../support/volume-binder.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

const saved = "saved-";

export const volumeFaults = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, cloudLies, clock, history, server, volumes: known } = world;
  if (known === undefined) return { disruptions: [], stop: () => undefined };
  const { pods } = known;
  let hasStopped = false;
  let created = 0;

  /** Checks twice a second, for as long as the faults last. */
  const once = (isTrue: () => boolean, work: () => void): void => {
    clock.after(milliseconds(500), () => {
      if (hasStopped) return;
      if (isTrue()) work();
      else once(isTrue, work);
    });
  };
  const allBound = () => pods.binder.claims().filter(({ status }) => status?.phase === "Bound");

  /** More volumes than the mass limit allows, and pods that leave meanwhile. */
  const hideAll = (): void => {
    for (let count = 8; count > 0; count -= 1) pods.create(`many-${created++}`);
    clock.after(seconds(90), () => {
      const all = cloud.volumes.list();
      const min = Math.max(2, Math.floor(all.length * 0.2)) + 4;
      if (hasStopped || all.length < min || world.isHidingMany) return;
      const duration = Math.round(dice.between(40_000, 200_000));
      world.hidesMany(duration + 60_000);
      history.log(`cloud: hides all volumes for ${duration / 1000} s`);
      cloudLies.volumes.clear();
      cloudLies.volumes.add({ kind: "missing", from: "both" }, duration);
      for (const { claim } of dice.some(pods.mounts, 5)) pods.move(claim);
    });
  };
  /** The cloud still expands the volume of the former claim when the next one of that name has its own. */
  const recreate = (): void => {
    const claim = dice.pick(allBound());
    // The next claim has no source.
    if (claim === undefined || claim.spec?.dataSource !== undefined) return;
    const { name } = claim.metadata;
    const { actionTime } = cloud.volumes;
    history.log("cloud: the next changes of volumes take 90 s");
    cloud.volumes.actionTime = seconds(90);
    pods.grow(name);
    clock.after(seconds(4), () => {
      cloud.volumes.actionTime = actionTime;
      pods.delete(name);
    });
    once(
      () => pods.claim(name) === undefined,
      () => pods.create(name, { storageClass: "soon" }),
    );
  };
  /** Before they are deleted, and the watch of the leader is late. */
  const save = (): void => {
    cloud.faults.add({ kind: "status", status: 423, operation: "DELETE /volumes/{id}", calls: 12 });
    for (const claim of dice.some(allBound(), 3)) saveVolumeOf(claim);
  };
  const saveVolumeOf = (claim: PersistentVolumeClaim): void => {
    const volume = pods.volumeOf(claim);
    const { name } = volume?.metadata ?? {};
    const copy = `${saved}${name}`;
    if (volume?.spec?.persistentVolumeReclaimPolicy !== "Delete") return;
    pods.delete(claim.metadata.name);
    const now = () => pods.binder.volumes().find(({ metadata }) => metadata.name === name);
    once(
      () => now()?.status?.phase !== "Bound",
      () => {
        if (now()?.status?.phase !== "Released" || server.store.get("persistentvolumes", "", copy)) return;
        history.log(`an administrator saves the volume of ${name}`);
        world.leader?.kube.stallStreams(0, "/persistentvolumes?");
        const { claimRef: _, ...spec } = { ...volume.spec, persistentVolumeReclaimPolicy: "Retain" };
        const draft = { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: copy } };
        server.objects.create(stored.volumes, "", json({ ...draft, spec, status: { phase: "Available" } }));
      },
    );
  };
  /** For as long as the cluster exists. */
  const takeLease = (): void => {
    const name = dice.pick(sidecarLeases(driver)) ?? "";
    const metadata = { name, namespace: "default" };
    if (server.store.get("leases", "default", name) !== undefined) return;
    history.log(`a tenant holds the Lease default/${name}`);
    const specOf = () => ({ holderIdentity: "tenant", renewTime: new Date(clock.now()).toISOString() });
    const draft = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
    server.objects.create(stored.leases, "default", json({ ...draft, spec: specOf() }));
    const renew = (): void => {
      server.objects.patch(stored.leases, "default", name, "", (lease) => ({ ...lease, spec: specOf() }));
      clock.after(seconds(10), renew);
    };
    clock.after(seconds(10), renew);
  };

  return {
    disruptions: [
      { weight: 3, apply: hideAll },
      { weight: 3, apply: recreate },
      { weight: 3, apply: save },
      { weight: 2, apply: takeLease },
    ],
    stop: () => {
      hasStopped = true;
      // The administrator has copied the data.
      for (const { metadata } of pods.binder.volumes())
        if (metadata.name.startsWith(saved)) server.objects.delete(stored.volumes, "", metadata.name);
    },
  };
};
