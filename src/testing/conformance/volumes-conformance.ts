// The contract of a provider's volumes: each change has the effect that it reports, may be
// repeated, and ends in the same state after any fault and any crash. No volume is created twice,
// detached in order to delete or attach it, or considered absent without a definite answer.

import { describe, expect, test } from "bun:test";
import { seconds } from "../../core/brand.ts";
import type { ObservedVolume, VolumeDriver, Volumes } from "../../provider/volumes.ts";
import { readParameters } from "../../volumes/csi/volume-requests.ts";
import { runsAllTests } from "../breadth.ts";
import { endsInTheSameState, type VolumeWorld, volumeWorld } from "./end-states.ts";
import { failureOf, Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";
import { snapshotsConformance } from "./snapshots-conformance.ts";

/** Runs the contract of `volumes` as bun tests. Call it at the top level of a test file. */
export function volumesConformance(name: string, harness: Harness): void {
  const driver: VolumeDriver | undefined = harness.definition.volumeDriver;
  if (driver === undefined) throw new Error("This provider has no volume driver.");
  const fresh = () => volumeWorld(harness, driver);

  const live = async ({ lab, orchestrator, ids: [first, second], place }: VolumeWorld): Promise<string[]> => {
    const states: string[] = [lab.state];
    const note = async <T>(step: Promise<T>): Promise<T> => {
      const result = await step;
      states.push(lab.state);
      return result;
    };
    const [one, two] = [
      await note(orchestrator.create("pvc-1", place)),
      await note(orchestrator.create("pvc-2", place, 3)),
    ];
    expect([one.size, two.size]).toEqual([driver.sizes.min, driver.sizes.min + 2 * driver.sizes.step]);
    await note(orchestrator.attach(one, first));
    await note(orchestrator.attach(two, second));
    await note(orchestrator.expand(one, driver.sizes.min + driver.sizes.step));
    await note(orchestrator.detach(one, first));
    await note(orchestrator.attach(one, second));
    await note(orchestrator.detach(one));
    await note(orchestrator.remove(one));
    await note(orchestrator.detach(two, second));
    await note(orchestrator.remove(two));
    return states;
  };

  describe(`${name}: volumes`, () => {
    test("creates volumes with sizes that the driver declares", () => {
      const { min, step, max } = driver.sizes;
      expect([min % step, max % step, min <= max]).toEqual([0, 0, true]);
    });

    test("creates, attaches, expands, detaches and deletes volumes", async () => {
      const world = await fresh();
      const { lab } = world;
      const states = await live(world);
      expect(states.at(-1)).toBe(states[0] as string);
      for (const [index, state] of states.slice(1).entries()) expect(state).not.toBe(states[index] as string);
      expect([lab.undeclaredMutations, lab.leakedListeners]).toEqual([[], 0]);
    });

    test.if(runsAllTests)(
      "creates 50 volumes at once in at most 55 requests beyond the pages of listings",
      async () => {
        const { lab, orchestrator, place } = await fresh();
        const first = lab.requests.length;
        await orchestrator.once((volumes, signal) => volumes.list(signal));
        const pages = new Set(lab.requests.slice(first).map(({ operation }) => operation));
        const before = lab.requests.length;
        const names = Array.from({ length: 50 }, (_, index) => `pvc-${index}`);
        const made = await Promise.all(names.map((name) => orchestrator.create(name, place)));
        expect(new Set(made.map(({ id }) => id)).size).toBe(50);
        const others = lab.requests.slice(before).filter(({ operation }) => !pages.has(operation));
        expect(others.length).toBeLessThanOrEqual(55);
      },
    );

    test("changes no volume when a call is repeated, even after a restart", async () => {
      const { lab, orchestrator, ids, place } = await fresh();
      const made = await orchestrator.create("pvc-1", place);
      await orchestrator.attach(made, ids[0]);
      const [before, state] = [lab.mutations, lab.state];
      for (const _ of [1, 2]) {
        expect((await orchestrator.create("pvc-1", place)).id).toBe(made.id);
        const { attachedTo } = await orchestrator.attach(made, ids[0]);
        expect(attachedTo).toEqual([ids[0]]);
        await orchestrator.expand(made, made.size);
        await orchestrator.detach(made, ids[1]);
        lab.connect();
      }
      expect([lab.mutations, lab.state]).toEqual([before, state]);
      await orchestrator.detach(made, ids[0]);
      await orchestrator.remove(made);
      const removed = lab.mutations;
      await orchestrator.remove(made);
      await orchestrator.detach(made, ids[0]);
      expect(lab.mutations).toBe(removed);
    });

    endsInTheSameState(fresh, live);

    test("neither deletes an attached volume nor attaches it elsewhere", async () => {
      const { lab, orchestrator, ids, place } = await fresh();
      const made = await orchestrator.create("pvc-1", place);
      await orchestrator.attach(made, ids[0]);
      const before = lab.mutations;
      for (const refused of [orchestrator.remove(made), orchestrator.attach(made, ids[1])])
        expect(await failureOf(refused)).toMatchObject({ code: "FAILED_PRECONDITION" });
      expect(lab.mutations).toBe(before);
    });

    test("deletes a volume in the cloud only after it is detached", async () => {
      const { lab, orchestrator, ids, place } = await fresh();
      const made = await orchestrator.create("pvc-1", place);
      await orchestrator.attach(made, ids[0]);
      const state = lab.state;
      await failureOf(lab.run(async (call) => lab.cloud.volumes?.remove({ ...made, attachedTo: [] }, call)));
      await lab.clock.advance(seconds(10));
      expect(lab.state).toBe(state);
    });

    test("never detaches a volume from another machine", async () => {
      const { lab, orchestrator, ids, place } = await fresh();
      const made = await orchestrator.create("pvc-1", place);
      await orchestrator.attach(made, ids[0]);
      const [before, state] = [lab.mutations, lab.state];
      await orchestrator.detach(made, ids[1]);
      expect([lab.mutations, lab.state]).toEqual([before, state]);
    });

    test("creates a volume once for simultaneous calls, with few listings", async () => {
      const { lab, orchestrator, place } = await fresh();
      const before = lab.requests.length;
      const names = Array.from({ length: 20 }, (_, index) => `pvc-${index}`);
      const { values, claim } = readParameters({}, driver);
      const range = { size: driver.sizes.min, limit: driver.sizes.max };
      const made = await orchestrator.once((volumes, signal) =>
        Promise.all(
          names.map((each) =>
            volumes.create({ name: each, range, places: [place], parameters: values, claim }, signal),
          ),
        ),
      );
      expect(new Set(made.map(({ id }) => id)).size).toBe(20);
      const sent = lab.requests.slice(before);
      expect(sent.filter(({ mutates }) => mutates)).toHaveLength(20);
      const listed = await lab.list((call) => (lab.cloud.volumes as Volumes).list(call));
      expect(listed.map((volume) => volume.name).toSorted()).toEqual(names.toSorted());
    });

    test("detaches a volume although a crashed process had just started to attach it", async () => {
      const { lab, orchestrator, ids, place } = await fresh();
      const made = await orchestrator.create("pvc-1", place);
      await lab.run(async (call) => lab.cloud.volumes?.attach(made, ids[0], call));
      lab.connect();
      await orchestrator.detach(made, ids[0]);
      await lab.clock.advance(seconds(60));
      const after = await lab.run(async (call) => lab.cloud.volumes?.get(made.id, call));
      expect(after?.attachedTo).toEqual([]);
    });

    const limit = driver.limitOf({ type: "" });
    test.if(runsAllTests || limit < 100)(
      "attaches volumes until the machine has its maximum number",
      async () => {
        const { orchestrator, ids, place } = await fresh();
        const names = Array.from({ length: limit + 1 }, (_, index) => `pvc-${index}`);
        const made = await Promise.all(names.map((name) => orchestrator.create(name, place)));
        for (const volume of made.slice(0, limit)) await orchestrator.attach(volume, ids[0]);
        const tooMany = orchestrator.attach(made[limit] as ObservedVolume, ids[0]);
        expect(await failureOf(tooMany)).toMatchObject({ code: "RESOURCE_EXHAUSTED" });
      },
    );

    test("rejects attaching a volume to a machine that does not exist", async () => {
      const { orchestrator, place } = await fresh();
      const made = await orchestrator.create("pvc-1", place);
      for (const machine of ["999999", "no machine"])
        expect(await failureOf(orchestrator.attach(made, machine))).toMatchObject({ code: "NOT_FOUND" });
    });

    test("reports a missing volume as missing, whatever its id is", async () => {
      const { lab } = await fresh();
      for (const id of ["999999", "no volume", "../machines/1"])
        expect(await lab.run(async (call) => lab.cloud.volumes?.get(id, call))).toBeUndefined();
    });

    test("lists volumes completely, or throws", async () => {
      const { lab, orchestrator, place } = await fresh();
      for (const each of ["pvc-1", "pvc-2"]) await orchestrator.create(each, place);
      lab.simulated.shortenNextVolumePage?.();
      const list = (lab.cloud.volumes as Volumes).list;
      if (lab.simulated.shortenNextVolumePage !== undefined)
        expect(await failureOf(lab.list(list))).toMatchObject({ kind: "unavailable" });
      expect(await lab.list(list)).toHaveLength(2);
    });
  });
  test(`${name}: volumes have snapshots exactly if the driver declares them`, () => {
    const { snapshots } = new Lab(harness).cloud.volumes ?? {};
    expect(snapshots !== undefined).toBe((driver.sources ?? []).includes("snapshot"));
  });
  for (const kind of driver.sources ?? []) snapshotsConformance(name, harness, driver, kind);
}
