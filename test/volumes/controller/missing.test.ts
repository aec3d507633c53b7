// Volumes that the cloud does not show, as with a token of another project: which actions may follow, and which may not.

import { afterEach, describe, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import type { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

/** Claims `data-0` and so on, whose volumes are attached and in use by no kubelet. */
async function attached(
  count: number,
): Promise<{ readonly w: VolumeWorld; readonly names: readonly string[] }> {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start();
  const claims = Array.from({ length: count }, (_, index) => `data-${index}`);
  for (const claim of claims) w.claim(claim);
  await w.until(() => claims.every((claim) => w.isBound(claim)), "bound");
  const names = claims.map((claim, index) => w.attach(claim, w.nodesFor(claim)[index % 2] ?? ""));
  await w.until(() => names.every((name) => w.isAttached(name)), "attached");
  await w.pass(35);
  w.forget();
  return { w, names };
}

const show = (w: VolumeWorld, isShown: (id: string) => boolean): void => {
  w.cloud.view = { ...trueView, volumes: (all) => all.filter(({ id }) => isShown(id)) };
};
const attachedInCloud = (w: VolumeWorld) =>
  w.cloud.volumes.list().filter(({ machine }) => machine !== null).length;
const held = (w: VolumeWorld) => w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;

describe("while the cloud shows no volume", () => {
  test("keeps VolumeAttachments while the cloud shows no volume, and detaches their volumes when the cloud shows them again", async () => {
    const { w, names } = await attached(10);
    show(w, () => false);
    for (const name of names) w.detach(name);
    await w.pass(90);
    expect(names.filter((name) => w.attachment(name) !== undefined)).toEqual([...names]);
    expect(w.events(names[0] ?? "").at(-1)).toContain(
      "Warning MassDeletionHeld The cloud does not show 10 of 10 volumes, and 0 volumes were removed in the last 10 minutes. More than 2 at once is treated as a fault of the cloud, or as credentials of another project (if so, correct them), so nothing is deleted or detached because of this. Check that the volumes, and their claims, are meant to be gone. To continue: ",
    );
    expect(held(w)).toEqual(names.toSorted());
    w.cloud.view = trueView;
    await w.until(() => names.every((name) => w.attachment(name) === undefined), "detached", 120);
    await w.pass(1);
    expect([attachedInCloud(w), held(w)]).toEqual([0, []]);
    // Each VolumeAttachment was reported once.
    expect(w.events(names[0] ?? "").filter((text) => text.includes("MassDeletionHeld"))).toHaveLength(1);
  });

  test("keeps a VolumeAttachment that is the only one of ten being deleted, while the cloud shows no volume", async () => {
    const { w, names } = await attached(10);
    const [name = ""] = names;
    show(w, () => false);
    w.detach(name);
    await w.pass(900);
    expect(w.attachment(name)).toBeDefined();
    (w.manager.removals as RemovalMemory).release("volumes");
    await w.until(() => w.attachment(name) === undefined, "released", 120);
    expect(attachedInCloud(w)).toBe(10);
  });

  test("keeps a VolumeAttachment if the cloud shows its volume later than the other volumes", async () => {
    const { w, names } = await attached(10);
    const [name = ""] = names;
    const handle = w.volumeOf("data-0").spec?.csi?.volumeHandle;
    show(w, () => false);
    w.detach(name);
    await w.pass(115);
    show(w, (id) => id !== handle);
    await w.pass(25);
    expect(w.attachment(name)).toBeDefined();
    w.cloud.view = trueView;
    await w.until(() => w.attachment(name) === undefined, "detached", 120);
    expect(attachedInCloud(w)).toBe(9);
  });

  test("keeps PersistentVolumes of deleted claims while the cloud shows no volume, and deletes their volumes when the cloud shows them again", async () => {
    const { w, names } = await attached(10);
    for (const name of names) w.detach(name);
    await w.until(() => names.every((name) => w.attachment(name) === undefined), "detached", 60);
    show(w, () => false);
    for (let index = 0; index < 10; index += 1) w.deleteClaim(`data-${index}`);
    await w.pass(900);
    expect([w.volumes().length, held(w)?.length]).toEqual([10, 10]);
    w.cloud.view = trueView;
    await w.until(() => w.volumes().length === 0, "deleted", 120);
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test("counts the PersistentVolumes that were deleted before a restart towards the limit", async () => {
    const { w, names } = await attached(4);
    for (const name of names) w.detach(name);
    await w.until(() => names.every((name) => w.attachment(name) === undefined), "detached", 60);
    await w.stop();
    await w.start("--leader-elect=true");
    await w.pass(5);
    const handles = [0, 1].map((index) => w.volumeOf(`data-${index}`).spec?.csi?.volumeHandle);
    show(w, (id) => !handles.includes(id));
    for (const index of [0, 1]) w.deleteClaim(`data-${index}`);
    await w.until(() => w.volumes().length === 2, "two deleted", 120);
    show(w, () => false);
    w.crash();
    await w.start("--leader-elect=true");
    await w.until(() => w.manager.leads(), "the new process to lead");
    await w.pass(5);
    for (const index of [2, 3]) w.deleteClaim(`data-${index}`);
    await w.pass(300);
    expect([w.volumes().length, held(w)?.length]).toEqual([2, 2]);
  });
});
