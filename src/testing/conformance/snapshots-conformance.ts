// The contract for sources of volumes, snapshots and other volumes: the data is from a single moment, each change has the effect
// that it reports, may be repeated, and ends in the same state after any fault and any crash.

import { describe, expect, test } from "bun:test";
import { seconds } from "../../core/brand.ts";
import type {
  ObservedVolume,
  Segments,
  Snapshots,
  VolumeDriver,
  VolumeSource,
} from "../../provider/volumes.ts";
import { endsInTheSameState, type VolumeWorld, volumeWorld } from "./end-states.ts";
import { failureOf, type Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";
import { type Orchestrator, snapshotsOf } from "./volume-orchestrator.ts";

function disksOf({ simulated }: Lab): NonNullable<typeof simulated.disks> {
  if (simulated.disks === undefined) throw new Error("The simulated cloud has no `disks`.");
  return simulated.disks;
}

function partOf({ cloud }: Lab): Snapshots {
  const { snapshots } = cloud.volumes ?? {};
  if (snapshots === undefined) throw new Error("This provider has no snapshots.");
  return snapshots;
}

const dataOf = (lab: Lab, { id }: ObservedVolume): string => disksOf(lab).read(id);

/** A volume that a machine has written to. */
async function written({ orchestrator, lab, place, ids }: VolumeWorld): Promise<ObservedVolume> {
  const volume = await orchestrator.create("pvc-1", place, 2);
  await orchestrator.attach(volume, ids[0]);
  disksOf(lab).write(volume.id, "first");
  return volume;
}

/** Runs the contract for one kind of source. `volumesConformance` calls it. */
export function snapshotsConformance(
  name: string,
  harness: Harness,
  driver: VolumeDriver,
  kind: VolumeSource["kind"],
): void {
  const fresh = () => volumeWorld(harness, driver);

  const restore = (orchestrator: Orchestrator, place: Segments, id: string, name = "pvc-2") =>
    orchestrator.create(name, place, 3, { kind, id });

  const live = async (world: VolumeWorld): Promise<readonly unknown[]> => {
    const { lab, orchestrator, place } = world;
    const states: unknown[] = [lab.state];
    const note = async <T>(step: Promise<T>): Promise<T> => {
      const result = await step;
      states.push(lab.state);
      return result;
    };
    const original = await written(world);
    const overwrite = () => disksOf(lab).write(original.id, "second");
    const snapshot =
      kind === "snapshot" ? await note(orchestrator.snapshot("snapshot-1", original, overwrite)) : undefined;
    const restored = await note(restore(orchestrator, place, snapshot?.id ?? original.id));
    disksOf(lab).write(original.id, "third");
    states.push([dataOf(lab, restored), restored.size, restored.attachedTo]);
    await note(orchestrator.remove(restored));
    if (snapshot !== undefined) await note(orchestrator.removeSnapshot(snapshot));
    await note(orchestrator.detach(original));
    await note(orchestrator.remove(original));
    return states;
  };

  describe(`${name}: volumes from a ${kind}`, () => {
    test("creates volumes that contain the source's data of that moment, with their own size", async () => {
      const world = await fresh();
      const { lab } = world;
      const states = await live(world);
      const size = driver.sizes.min + 2 * driver.sizes.step;
      expect(states.at(kind === "snapshot" ? 3 : 2)).toEqual(["first", size, []]);
      expect(states.at(-1)).toBe(states[0] as string);
      expect([lab.undeclaredMutations, lab.leakedListeners]).toEqual([[], 0]);
    });

    test("rejects volumes that are smaller than their source, or whose source does not exist", async () => {
      const world = await fresh();
      const { lab, orchestrator, place } = world;
      const original = await written(world);
      const id = kind === "snapshot" ? (await orchestrator.snapshot("snapshot-1", original)).id : original.id;
      const before = lab.mutations;
      const small = orchestrator.create("pvc-2", place, 1, { kind, id });
      expect(await failureOf(small)).toMatchObject({ code: "OUT_OF_RANGE" });
      for (const missing of ["999999", "no source", "../machines/1"])
        expect(await failureOf(restore(orchestrator, place, missing))).toMatchObject({ code: "NOT_FOUND" });
      expect(lab.mutations).toBe(before);
    });

    endsInTheSameState(fresh, live);
  });

  if (kind === "volume") return;

  describe(`${name}: snapshots`, () => {
    test("changes no snapshot when a call is repeated, even after a restart", async () => {
      const world = await fresh();
      const { lab, orchestrator, place } = world;
      const original = await written(world);
      const made = await orchestrator.snapshot("snapshot-1", original);
      await restore(orchestrator, place, made.id);
      const [before, state] = [lab.mutations, lab.state];
      for (const _ of [1, 2]) {
        expect((await orchestrator.snapshot("snapshot-1", original)).id).toBe(made.id);
        await restore(orchestrator, place, made.id);
        lab.connect();
      }
      expect([lab.mutations, lab.state]).toEqual([before, state]);
      expect(await orchestrator.removeSnapshot(made)).toBe(true);
      const removed = lab.mutations;
      expect(await orchestrator.removeSnapshot(made)).toBe(false);
      expect(lab.mutations).toBe(removed);
    });

    test("snapshots show their volume and its size at that moment", async () => {
      const world = await fresh();
      const { lab, orchestrator } = world;
      const original = await written(world);
      const { id } = await orchestrator.snapshot("snapshot-1", original);
      await orchestrator.expand(original, original.size + driver.sizes.step);
      const { list } = partOf(lab);
      const [listed, ...others] = await lab.list(list);
      const { size, id: volumeID } = original;
      expect(listed).toMatchObject({ id, name: "snapshot-1", volumeID, size, state: "ready" });
      expect([others, Number.isNaN(listed?.createdAt.getTime())]).toEqual([[], false]);
    });

    test("rejects a snapshot whose name belongs to a snapshot of another volume", async () => {
      const world = await fresh();
      const { lab, orchestrator, place } = world;
      await orchestrator.snapshot("snapshot-1", await written(world));
      const other = await orchestrator.create("pvc-2", place);
      const before = lab.mutations;
      const refused = orchestrator.snapshot("snapshot-1", other);
      expect(await failureOf(refused)).toMatchObject({ code: "ALREADY_EXISTS" });
      expect(lab.mutations).toBe(before);
    });

    test("rejects snapshots of volumes that do not exist", async () => {
      const { lab, orchestrator } = await fresh();
      for (const volumeID of ["999999", "no volume"]) {
        const refused = orchestrator.once((volumes, signal) =>
          snapshotsOf(volumes).create({ name: "snapshot-1", volumeID }, signal),
        );
        expect(await failureOf(refused)).toMatchObject({ code: "NOT_FOUND" });
      }
      expect(lab.mutations).toBe(0);
    });

    test("reports a missing snapshot as missing, whatever its id is", async () => {
      const { lab } = await fresh();
      for (const id of ["999999", "no snapshot", "../machines/1"])
        expect(await lab.run(async (call) => partOf(lab).get(id, call))).toBeUndefined();
    });

    test("lists snapshots completely, or throws", async () => {
      const world = await fresh();
      const { lab, orchestrator } = world;
      const original = await written(world);
      for (const each of ["snapshot-1", "snapshot-2"]) await orchestrator.snapshot(each, original);
      await lab.clock.advance(seconds(10));
      lab.simulated.shortenNextSnapshotPage?.();
      const { list } = partOf(lab);
      if (lab.simulated.shortenNextSnapshotPage !== undefined)
        expect(await failureOf(lab.list(list))).toMatchObject({ kind: "unavailable" });
      expect(await lab.list(list)).toHaveLength(2);
    });
  });
}
