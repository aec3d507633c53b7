import { afterEach, expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import { World } from "./world.ts";

// Violates the invariants about volumes by hand: a check that cannot fail proves nothing.

let world: World | undefined;
afterEach(() => {
  for (const replica of [...(world?.replicas ?? [])]) world?.killReplica(replica);
  world?.kubelets.stop();
  world?.volumes?.pods.stop();
});

/** A claim whose volume a pod has mounted. */
async function mounted() {
  const w = new World({ seed: 1, nodes: 6, replicas: 1, volumes: true });
  world = w;
  const { volumes } = w;
  if (volumes === undefined) throw new Error("The world has no volumes.");
  await w.clock.advance(minutes(1));
  volumes.pods.create("data");
  await w.clock.until(() => volumes.pods.mounts.length === 1, minutes(3), "a mount");
  const [mount] = volumes.pods.mounts;
  const { handle = "", machine = "" } = mount ?? {};
  expect([w.invariants.violations, volumes.invariants.deviations()]).toEqual([[], []]);
  const found = () => w.invariants.violations.map(({ invariant }) => invariant);
  return { w, ...volumes, handle, machine, found };
}

test("detaching a volume from a machine that writes to it violates invariant 30", async () => {
  const { w, invariants, handle, machine, found } = await mounted();
  w.cloud.volumes.change(handle, { machine: null });
  expect(found()).toEqual([30]);
  await w.clock.advance(minutes(1));
  expect(invariants.deviations()).toContain(`volume ${handle} is attached to null, not ${machine}`);
});

test("deleting the volume of an existing claim violates invariant 30", async () => {
  const { w, handle, found } = await mounted();
  w.cloud.volumes.change(handle, { machine: null });
  await w.clock.advance(minutes(1));
  w.cloud.volumes.remove(handle);
  expect(found()).toEqual([30, 30]);
});

test("deleting a volume that must outlive its claim violates invariant 30", async () => {
  const { w, pods, invariants, handle, found } = await mounted();
  for (const { metadata } of pods.binder.volumes())
    pods.binder.changeVolume(metadata.name, ({ spec, ...rest }) => ({
      ...rest,
      spec: { ...spec, persistentVolumeReclaimPolicy: "Retain" },
    }));
  pods.delete("data");
  await w.clock.advance(minutes(5));
  expect([w.cloud.volumes.list().length, invariants.deviations()]).toEqual([1, []]);
  w.cloud.volumes.remove(handle);
  expect(found()).toEqual([30]);
});

test("creating a second volume for a claim violates invariant 6, even when the cloud rejects it", async () => {
  const { w, found } = await mounted();
  const { name = "" } = w.cloud.volumes.list()[0] ?? {};
  expect(() => w.cloud.volumes.create({ name })).toThrow("already exists");
  expect(found()).toEqual([6]);
});

test("deleting more volumes of vanished claims than the mass limit allows violates invariant 30", async () => {
  const { w, pods, invariants, found } = await mounted();
  for (const name of ["a", "b", "c"]) pods.create(name);
  await w.clock.until(() => pods.mounts.length === 4, minutes(3), "the mounts");
  for (const claim of ["a", "b", "c"]) {
    invariants.vanishes(pods.claim(claim)?.metadata.uid ?? "");
    const handle = pods.volumeOf(pods.claim(claim))?.spec?.csi?.volumeHandle ?? "";
    const writer = pods.mounts.find((mount) => mount.handle === handle);
    if (writer !== undefined) w.setMachine(writer.node, "stopped");
    await w.clock.advance(seconds(3));
    w.cloud.volumes.change(handle, { machine: null });
    await w.clock.advance(seconds(1));
    w.cloud.volumes.remove(handle);
  }
  expect(found()).toEqual([30]);
});
