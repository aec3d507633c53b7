// The state of one leadership session of the volume controller is not used in the next session, or for another
// object of the same name.

import { afterEach, describe, expect, test } from "bun:test";
import { Refusal } from "../../../providers/fake/simulator/answer.ts";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { SnapshotWorld } from "../../support/snapshot-world.ts";
import { driver, VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

async function open(...flags: readonly string[]): Promise<VolumeWorld> {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start("--leader-elect=true", ...flags);
  return w;
}

/** Lets another replica lead for an hour, in which `meanwhile` happens. */
async function loseLease(w: VolumeWorld, meanwhile: () => void): Promise<void> {
  for (let time = 0; time < 3600; time += 10) {
    w.holdLease("another-replica");
    await w.pass(10);
    if (time === 60) meanwhile();
  }
  w.forget();
  w.holdLease("");
  await w.until(() => w.manager.leads(), "this replica to lead");
}

/** The same process leads again after a minute in which its Lease could not be renewed, and no other replica led. */
async function interrupted(): Promise<{
  readonly w: SnapshotWorld;
  readonly interrupt: (meanwhile?: () => void) => Promise<void>;
}> {
  let isRefusing = false;
  const w = new SnapshotWorld({
    authorize: (_, { resource, verb }) => !(isRefusing && resource === "leases" && verb !== "get"),
  });
  world = w;
  await w.start("--leader-elect=true");
  const interrupt = async (meanwhile?: () => void): Promise<void> => {
    isRefusing = true;
    await w.until(() => !w.manager.leads(), "the end of the session");
    meanwhile?.();
    await w.pass(30);
    w.forget();
    isRefusing = false;
    await w.until(() => w.manager.leads(), "the next session");
  };
  return { w, interrupt };
}

const listsOfSnapshots = (w: VolumeWorld): readonly string[] =>
  w.read.filter((path) => path.endsWith("/volumesnapshots"));

/** A request of the manager that is answered only after its deadline. */
const unanswered = () => new Response(new ReadableStream<Uint8Array>({}));

describe("a leader that leads again after an hour", () => {
  test("a leader that leads again does not report an attachment of its former session as present", async () => {
    const w = await open("--concurrent-node-syncs=1");
    for (const name of ["data", "busy"]) w.claim(name);
    await w.until(() => w.isBound("data") && w.isBound("busy"), "bound");
    await w.pass(15);
    const [node] = w.nodesFor("data");
    const handle = w.volumeOf("data").spec?.csi?.volumeHandle ?? "";
    w.cloud.volumes.actionTime = milliseconds(2000);
    const name = w.attach("data", node);
    await w.until(() => w.changes.includes(`PATCH /volumes/${handle}`), "the attachment");
    // The only worker waits for a response, so that the attachment ends unnoticed.
    w.kubeFault = (method, path) =>
      method === "PATCH" && path.includes("/volumeattachments/busy") ? unanswered() : undefined;
    w.attach("busy", node, "busy");
    await w.pass(5);
    await loseLease(w, () => w.cloud.volumes.change(handle, { machine: null }));
    w.kubeFault = undefined;
    await w.until(() => w.isAttached(name), "attached");
    expect(w.cloud.volumes.get(handle).machine).toBe(w.machineOf(node));
  });

  test("a leader that leads again creates no volume for a claim that was deleted in the meantime", async () => {
    const w = await open();
    w.createClass("kept", { reclaimPolicy: "Retain" });
    w.cloud.faults.add({ kind: "status", status: 503, operation: "POST /volumes", calls: 1_000 });
    w.claim("data", { spec: { storageClassName: "kept" } });
    await w.until(() => w.changes.includes("POST /volumes"), "the request");
    await loseLease(w, () => {
      w.deleteClaim("data");
      w.cloud.faults.clear();
    });
    await w.pass(900);
    expect([w.changes, w.volumes()]).toEqual([[], []]);
  });
});

describe("the next session of the same process", () => {
  test("the next session of the same process uses snapshots without listing them again", async () => {
    const { w, interrupt } = await interrupted();
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound");
    w.snapshot("first", "data");
    await w.until(() => w.isReady("first"), "ready");
    await interrupt(() => w.snapshot("second", "data"));
    await w.until(() => w.isReady("second"), "ready");
    expect(listsOfSnapshots(w)).toEqual([]);
  });

  test("the next session completes an interrupted creation, so that the volume of a claim that was deleted in the meantime is deleted", async () => {
    const { w, interrupt } = await interrupted();
    await w.until(() => w.manager.leads(), "the first session");
    const { volumes } = w.cloud;
    const { create } = volumes;
    let created = 0;
    volumes.create = (spec) => {
      if (created === 0) create.call(volumes, spec);
      created += 1;
      throw new Refusal(503, "unavailable", "try again");
    };
    w.cloud.view = { ...trueView, volumes: () => [] };
    w.claim("data");
    await w.until(() => created > 0, "the request");
    await interrupt(() => {
      w.deleteClaim("data");
      volumes.create = create;
      w.cloud.view = trueView;
    });
    const left = () => w.cloud.volumes.list().length + w.volumes().length;
    await w.until(() => left() === 0, "the deletion", 300);
  });

  test("the next session provisions nothing for a deleted claim whose PersistentVolume was created, although the response was lost", async () => {
    const { w, interrupt } = await interrupted();
    w.onCrossing = (what, when) => {
      if (when === "after" && what === "POST /api/v1/persistentvolumes") throw new Error("connection reset");
    };
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound");
    await interrupt();
    w.onCrossing = undefined;
    await w.pass(60);
    w.forget();
    w.deleteClaim("data");
    await w.pass(600);
    expect([...w.changes, ...w.written].filter((what) => what.startsWith("POST "))).toEqual([]);
    expect([w.volumes(), w.cloud.volumes.list()]).toEqual([[], []]);
  });

  test("the next session waits for no sidecar whose Lease had expired before", async () => {
    const { w, interrupt } = await interrupted();
    w.renewSidecar("csi-fake-example");
    w.claim("first");
    await w.until(() => w.isBound("first"), "bound");
    await interrupt();
    w.claim("second");
    await w.until(() => w.isBound("second"), "bound", 14);
  });

  test.each(["the claims", "the volumes"])(
    "the next session deletes no PersistentVolume that it holds because too many of %s are missing, although there are more volumes since",
    async (what) => {
      const { w, interrupt } = await interrupted();
      const claim = async (...names: readonly string[]): Promise<void> => {
        for (const name of names) w.claim(name);
        await w.until(() => names.every((name) => w.isBound(name)), "bound", 300);
      };
      const old = Array.from({ length: 5 }, (_, index) => `old-${index}`);
      await claim(...old);
      await w.pass(35);
      const lost = old.slice(0, 3);
      if (what === "the volumes") {
        const ids = new Set(lost.map((name) => w.volumeOf(name).spec?.csi?.volumeHandle));
        w.cloud.view = { ...trueView, volumes: (all) => all.filter(({ id }) => !ids.has(id)) };
        for (const name of lost) w.deleteClaim(name);
      } else {
        // The watches are closed, and the next lists lack the claims.
        w.server.faults.intercept = (_, { verb, plural }) =>
          verb === "watch" && plural === "persistentvolumeclaims" ? "drop" : undefined;
        await w.pass(300);
        for (const name of lost) w.deleteClaim(name);
        w.server.compact();
        w.server.faults.intercept = undefined;
      }
      const held = () => w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;
      await w.until(() => held()?.length === 3, "the hold", 600);
      const added = Array.from({ length: 12 }, (_, index) => `new-${index}`);
      await claim(...added);
      const attachments = added.map((name) => w.attach(name, w.nodesFor(name)[0]));
      await w.until(() => attachments.every((name) => w.isAttached(name)), "attached", 300);
      await interrupt();
      await w.pass(600);
      expect([held()?.length, w.volumes().length]).toEqual([3, 17]);
    },
  );

  test("the next session does not report a lasting failure again", async () => {
    const { w, interrupt } = await interrupted();
    w.claim("data", { size: "2Ti" });
    const reported = () => w.logged.filter((line) => line.includes("No volume has a size")).length;
    await w.until(() => reported() === 1, "the failure");
    await interrupt();
    await w.pass(600);
    expect(reported()).toBe(1);
  });
});

test("a session after another replica led lists the snapshots again", async () => {
  const { w } = await interrupted();
  await w.until(() => listsOfSnapshots(w).length > 0, "the first session");
  await loseLease(w, () => undefined);
  await w.until(() => listsOfSnapshots(w).length > 0, "the list", 60);
});

describe("a claim with the name of a deleted claim", () => {
  test("a claim with the name of a deleted claim does not get the size to which the former volume was expanded", async () => {
    const w = await open();
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound");
    await w.pass(15);
    w.cloud.volumes.actionTime = milliseconds(20_000);
    w.changeClaim("data", (claim) => ({
      ...claim,
      spec: { ...claim.spec, resources: { requests: { storage: "100Gi" } } },
    }));
    await w.until(() => w.changes.includes("PATCH /volumes/v1"), "the expansion");
    w.cloud.volumes.actionTime = milliseconds(0);
    w.deleteClaim("data");
    w.claim("data", { spec: { storageClassName: "" } });
    const { uid } = w.getClaim("data").metadata;
    const claimRef = { namespace: "default", name: "data", uid };
    w.createVolume("other", { spec: { claimRef, csi: { driver, volumeHandle: "v9" } } });
    await w.until(() => w.isBound("data"), "bound");
    await w.pass(60);
    expect(w.volumeOf("data").spec?.capacity).toEqual({ storage: "1Gi" });
  });

  test("a claim with the name of a deleted claim gets its volume while the former creation never ends", async () => {
    const w = await open();
    w.claim("data");
    const { uid } = w.getClaim("data").metadata;
    const { volumes } = w.cloud;
    const { create } = volumes;
    volumes.create = (spec) => {
      if (spec.name === `pvc-${uid}`) throw new Refusal(503, "unavailable", "try again");
      return create.call(volumes, spec);
    };
    await w.until(() => w.changes.includes("POST /volumes"), "the request");
    w.deleteClaim("data");
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound", 60);
    expect(w.volumes()).toHaveLength(1);
  });
});
