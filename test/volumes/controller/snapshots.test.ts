// Snapshots, and volumes from them, with the objects and messages of the snapshot-controller and of csi-snapshotter.

import { afterEach, describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { SnapshotWorld } from "../../support/snapshot-world.ts";
import { driver } from "../../support/volume-world.ts";

const prefix = "snapshot.storage.kubernetes.io";
const protection = {
  source: `${prefix}/volumesnapshot-as-source-protection`,
  bound: `${prefix}/volumesnapshot-bound-protection`,
  content: `${prefix}/volumesnapshotcontent-bound-protection`,
  claim: `${prefix}/pvc-as-source-protection`,
};

let world: SnapshotWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

async function open(): Promise<SnapshotWorld> {
  const w = new SnapshotWorld();
  world = w;
  await w.start();
  return w;
}

async function withClaim(size = "1Gi"): Promise<SnapshotWorld> {
  const w = await open();
  w.claim("data", { size });
  await w.until(() => w.isBound("data"), "bound");
  w.write("data", "first");
  return w;
}

async function withSnapshot(spec?: Parameters<SnapshotWorld["snapshot"]>[2]): Promise<SnapshotWorld> {
  const w = await withClaim();
  w.snapshot("backup", "data", spec);
  await w.until(() => w.isReady("backup"), "ready");
  return w;
}

const contentOf = (w: SnapshotWorld, name = "backup") =>
  w.contents().find(({ spec }) => spec.volumeSnapshotRef.name === name);
const messageOf = (w: SnapshotWorld, name = "backup") => w.findSnapshot(name)?.status?.error?.message;

describe("a VolumeSnapshot", () => {
  test("a VolumeSnapshot becomes a snapshot in the cloud, with the objects of the snapshot-controller and of csi-snapshotter", async () => {
    const w = await withClaim();
    w.cloud.volumes.actionTime = seconds(20);
    w.snapshot("backup", "data");
    await w.until(() => contentOf(w)?.status?.snapshotHandle !== undefined, "taken");
    expect(w.getClaim("data").metadata.finalizers).toContain(protection.claim);
    w.write("data", "second");
    expect(w.isReady("backup")).toBe(false);
    await w.until(() => w.isReady("backup"), "ready");
    const { uid } = w.getSnapshot("backup").metadata;
    expect(w.getSnapshot("backup")).toMatchObject({
      metadata: { finalizers: [protection.source, protection.bound] },
      status: { boundVolumeSnapshotContentName: `snapcontent-${uid}`, readyToUse: true, restoreSize: "1Gi" },
    });
    await w.until(
      () => w.getClaim("data").metadata.finalizers?.includes(protection.claim) !== true,
      "released",
    );
    const [taken] = w.cloud.snapshots.list();
    expect(taken).toMatchObject({ id: "s1", name: `snapshot-${uid}`, volume: "v1", data: "first" });
    const creationTime = Date.parse(taken?.created_at ?? "") * 1_000_000;
    const { metadata, spec, status } = contentOf(w) ?? {};
    expect(metadata).toMatchObject({ name: `snapcontent-${uid}`, finalizers: [protection.content] });
    expect(metadata?.annotations ?? {}).toEqual({});
    expect(spec).toMatchObject({
      driver,
      deletionPolicy: "Delete",
      volumeSnapshotClassName: "fake",
      sourceVolumeMode: "Filesystem",
      source: { volumeHandle: "v1" },
      volumeSnapshotRef: {
        apiVersion: "snapshot.storage.k8s.io/v1",
        kind: "VolumeSnapshot",
        name: "backup",
        namespace: "default",
        uid,
      },
    });
    expect(status).toEqual({ snapshotHandle: "s1", readyToUse: true, creationTime, restoreSize: 2 ** 30 });
    await w.pass(1);
    expect(w.events("backup")).toEqual([
      "Normal CreatingSnapshot Waiting for a snapshot default/backup to be created by the CSI driver.",
      "Normal SnapshotCreated Snapshot default/backup was successfully created by the CSI driver.",
      "Normal SnapshotReady Snapshot default/backup is ready to use.",
    ]);
  });

  test("a deleted VolumeSnapshot deletes its snapshot if the policy is Delete", async () => {
    const w = await withSnapshot();
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined && w.contents().length === 0, "deleted");
    expect(w.cloud.snapshots.list()).toEqual([]);
    expect(w.cloud.volumes.list()).toHaveLength(1);
  });

  test("a deleted VolumeSnapshot leaves its snapshot and VolumeSnapshotContent if the policy is Retain", async () => {
    const w = await withClaim();
    w.createSnapshotClass("kept", { deletionPolicy: "Retain" });
    w.snapshot("backup", "data", { volumeSnapshotClassName: "kept" });
    await w.until(() => w.isReady("backup"), "ready");
    expect(w.getSnapshot("backup").metadata.finalizers).toEqual([protection.source]);
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
    await w.pass(300);
    expect(w.cloud.snapshots.list()).toHaveLength(1);
    expect(w.contents()).toMatchObject([
      { metadata: { annotations: { [`${prefix}/volumesnapshot-being-deleted`]: "yes" } } },
    ]);
    w.deleteContent(w.contents()[0]?.metadata.name ?? "");
    await w.until(() => w.contents().length === 0, "content deleted");
    expect(w.cloud.snapshots.list()).toHaveLength(1);
  });

  test("a VolumeSnapshot is taken within seconds when the PersistentVolume of its claim becomes visible", async () => {
    const w = await withClaim();
    const { csi } = w.volumeOf("data").spec ?? {};
    w.claim("late", { spec: { volumeName: "pv-late" } });
    w.changeClaim("late", (now) => ({ ...now, status: { ...now.status, phase: "Bound" } }), "status");
    w.snapshot("backup", "late");
    await w.until(() => messageOf(w)?.includes("not yet bound") === true, "reported");
    await w.pass(40);
    const { uid } = w.getClaim("late").metadata;
    const claimRef = { namespace: "default", name: "late", uid: uid ?? "" };
    w.createVolume("pv-late", { spec: { claimRef, csi: { driver, volumeHandle: csi?.volumeHandle ?? "" } } });
    await w.until(() => w.isReady("backup"), "ready", 10);
  });

  test("a VolumeSnapshot is bound to a VolumeSnapshotContent that a user prepared, and is deleted with it", async () => {
    const w = await withSnapshot();
    w.createContent("old", {
      deletionPolicy: "Retain",
      source: { snapshotHandle: "s1" },
      volumeSnapshotRef: { name: "again", namespace: "default" },
    });
    w.snapshot("again", "", { source: { volumeSnapshotContentName: "old" } });
    await w.until(() => w.isReady("again"), "ready");
    const { uid } = w.getSnapshot("again").metadata;
    expect(contentOf(w, "again")).toMatchObject({
      metadata: { finalizers: [protection.content] },
      spec: { volumeSnapshotRef: { uid } },
      status: { snapshotHandle: "s1", readyToUse: true, restoreSize: 2 ** 30 },
    });
    expect(w.cloud.snapshots.list()).toHaveLength(1);
  });

  test("gives a VolumeSnapshot its driver's default class, or the reason why it gets no class", async () => {
    const w = await withClaim();
    w.snapshot("backup", "data", {});
    await w.until(() => messageOf(w) !== undefined, "a message");
    expect(messageOf(w)).toBe(
      "Failed to set default snapshot class with error cannot find default snapshot class. Set spec.volumeSnapshotClassName in a new VolumeSnapshot, or the annotation snapshot.storage.kubernetes.io/is-default-class on one VolumeSnapshotClass.",
    );
    w.createSnapshotClass("other", {
      metadata: { name: "other", annotations: { [`${prefix}/is-default-class`]: "true" } },
      driver: "another.example",
    });
    w.createSnapshotClass("default", {
      metadata: { name: "default", annotations: { [`${prefix}/is-default-class`]: "true" } },
    });
    await w.until(() => w.isReady("backup"), "ready");
    expect(w.getSnapshot("backup").spec.volumeSnapshotClassName).toBe("default");
    expect(w.getSnapshot("backup").status?.error).toBeUndefined();
  });

  test.each([
    [
      "a class that does not exist",
      "data",
      "lost",
      'Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "lost" not found. No snapshot is created until it exists.',
    ],
    [
      "a claim that does not exist",
      "lost",
      "fake",
      "Failed to create snapshot content with error the PVC default/lost does not exist",
    ],
    [
      "a class with a secret",
      "data",
      "secret",
      "Failed to create snapshot content with error the class secret has the parameter csi.storage.k8s.io/snapshotter-secret-name: secrets are not supported",
    ],
    [
      "a claim of another driver",
      "foreign",
      "fake",
      `Failed to create snapshot content with error the PV foreign is not a volume of ${driver}, the driver of the class fake`,
    ],
  ])("a VolumeSnapshot with %s is not created, and states the reason", async (_, claim, className, text) => {
    const w = await withClaim();
    w.createSnapshotClass("secret", {
      parameters: { "csi.storage.k8s.io/snapshotter-secret-name": "token" },
    });
    w.claim("foreign", { spec: { volumeName: "foreign" } });
    const claimRef = { name: "foreign", namespace: "default", uid: w.getClaim("foreign").metadata.uid };
    w.createVolume("foreign", { spec: { csi: { driver: "another.example", volumeHandle: "v1" }, claimRef } });
    await w.until(() => w.isBound("foreign"), "bound");
    w.snapshot("backup", claim, { volumeSnapshotClassName: className });
    await w.until(() => messageOf(w) !== undefined, "a message");
    expect(messageOf(w)).toBe(text);
    await w.pass(1);
    expect(w.events("backup").join()).toContain(text);
    const shown = w.manager.controllerReports().volume?.get("PersistentVolumeClaim")?.get(`default/${claim}`);
    expect(shown).toMatchObject([{ severity: "error", text: `VolumeSnapshot default/backup: ${text}` }]);
    expect([w.contents(), w.cloud.snapshots.list()]).toEqual([[], []]);
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
  });

  test("a VolumeSnapshot does not hold a claim that was deleted before its creation began", async () => {
    const w = await withClaim();
    w.cloud.volumes.actionTime = seconds(20);
    w.snapshot("backup", "data");
    await w.until(
      () => w.getClaim("data").metadata.finalizers?.includes(protection.claim) === true,
      "protected",
    );
    w.deleteClaim("data");
    w.snapshot("late", "data");
    await w.until(() => messageOf(w, "late") !== undefined, "refused");
    await w.until(() => w.isReady("backup"), "ready");
    await w.until(() => w.findClaim("data") === undefined, "deleted");
  });

  test("a completed and deleted VolumeSnapshot whose claim had vanished does not hold the claim when the claim returns", async () => {
    const w = await withClaim();
    w.cloud.volumes.actionTime = seconds(20);
    w.snapshot("backup", "data");
    const isProtected = () => w.getClaim("data").metadata.finalizers?.includes(protection.claim) === true;
    await w.until(isProtected, "protected");
    const claim = w.server.store.get("persistentvolumeclaims", "default", "data") as KubeObject;
    w.binds = false;
    w.server.store.remove(resourceNamed("persistentvolumeclaims"), claim);
    await w.until(() => w.isReady("backup"), "ready");
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
    w.server.store.put(resourceNamed("persistentvolumeclaims"), claim);
    await w.until(() => !isProtected(), "released", 10);
  });

  test("a VolumeSnapshot reports the parameters of its class that have no effect", async () => {
    const w = await withClaim();
    w.createSnapshotClass("locked", { parameters: { lockMode: "compliance" } });
    w.snapshot("backup", "data", { volumeSnapshotClassName: "locked" });
    await w.until(() => w.isReady("backup"), "ready");
    const events = w.events(contentOf(w)?.metadata.name ?? "").filter((text) => text.includes("lockMode"));
    expect(events).toHaveLength(1);
    expect(events.join()).toContain("Parameters of VolumeSnapshotClass locked have no effect: lockMode.");
  });

  test("a VolumeSnapshot of another driver is ignored", async () => {
    const w = await withClaim();
    w.createSnapshotClass("other", { driver: "another.example" });
    w.snapshot("backup", "data", { volumeSnapshotClassName: "other" });
    await w.pass(300);
    expect(w.getSnapshot("backup").metadata.finalizers).toBeUndefined();
    expect(w.getSnapshot("backup").status).toBeUndefined();
  });

  test("a VolumeSnapshot is not deleted while a claim is restored from it", async () => {
    const w = await withSnapshot();
    w.binds = false;
    w.restore("copy", "VolumeSnapshot", "backup");
    w.deleteSnapshot("backup");
    await w.until(() => w.events("backup").join().includes("SnapshotDeletePending"), "an event");
    expect(w.cloud.snapshots.list()).toHaveLength(1);
    w.deleteClaim("copy");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
    expect(w.cloud.snapshots.list()).toEqual([]);
  });
});

describe("a snapshot in the cloud", () => {
  test("a snapshot in the cloud is kept while another VolumeSnapshotContent refers to it", async () => {
    const w = await withSnapshot();
    w.createContent("other", {
      deletionPolicy: "Retain",
      source: { snapshotHandle: "s1" },
      volumeSnapshotRef: { name: "later", namespace: "default" },
    });
    w.deleteSnapshot("backup");
    const name = contentOf(w)?.metadata.name ?? "";
    await w.until(() => w.events(name).join().includes("SnapshotKept"), "an event");
    await w.pass(600);
    expect(w.cloud.snapshots.list()).toHaveLength(1);
    expect(w.events(name).join()).toContain(
      "The VolumeSnapshotContent other has the same snapshot, so snapshot s1 is not deleted.",
    );
    w.deleteContent("other");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
    expect(w.cloud.snapshots.list()).toEqual([]);
  });

  test("a snapshot in the cloud is kept while its VolumeSnapshot is not being deleted", async () => {
    const w = await withSnapshot();
    const name = contentOf(w)?.metadata.name ?? "";
    w.changeContent(name, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { [`${prefix}/volumesnapshot-being-deleted`]: "yes" } },
    }));
    w.deleteContent(name);
    await w.until(() => w.events(name).join().includes("SnapshotKept"), "an event");
    await w.pass(600);
    expect(w.cloud.snapshots.list()).toHaveLength(1);
    expect(w.events(name).join()).toContain("The VolumeSnapshot default/backup is not being deleted");
  });

  test("a snapshot keeps its VolumeSnapshotContent while the cloud briefly hides the snapshot", async () => {
    const w = await withSnapshot();
    const { view } = w.cloud;
    w.cloud.view = { ...view, snapshots: () => [] };
    w.deleteSnapshot("backup");
    await w.pass(10);
    expect(w.contents()).toHaveLength(1);
    w.cloud.view = view;
    await w.until(() => w.contents().length === 0, "deleted", 900);
    expect(w.cloud.snapshots.list()).toEqual([]);
  });
});

describe("a claim with a data source", () => {
  test("a claim with a data source gets a volume with the data of the VolumeSnapshot", async () => {
    const w = await withSnapshot();
    w.write("data", "second");
    w.restore("copy", "VolumeSnapshot", "backup", "2Gi");
    await w.until(() => w.isBound("copy"), "bound");
    expect([w.dataOf("copy"), w.cloud.volumes.get("v2").size]).toEqual(["first", 2]);
  });

  test("a claim with a data source gets a volume with the data of another claim", async () => {
    const w = await withClaim();
    w.restore("copy", "PersistentVolumeClaim", "data");
    await w.until(() => w.isBound("copy"), "bound");
    w.write("data", "second");
    expect(w.dataOf("copy")).toBe("first");
  });

  test("a claim with a data source waits until the VolumeSnapshot is ready", async () => {
    const w = await withClaim();
    w.restore("copy", "VolumeSnapshot", "backup");
    await w.until(() => w.events("copy").join().includes("ProvisioningFailed"), "an event");
    expect(w.events("copy").join()).toContain(
      "The VolumeSnapshot backup does not exist, so no volume is created yet. Fairlead will retry.",
    );
    w.snapshot("backup", "data");
    await w.until(() => w.isBound("copy"), "bound", 900);
    expect(w.dataOf("copy")).toBe("first");
  });

  test("a claim with a data source reports that it requests less than the snapshot has", async () => {
    const w = await withClaim("3Gi");
    w.snapshot("backup", "data");
    await w.until(() => w.isReady("backup"), "ready");
    w.restore("copy", "VolumeSnapshot", "backup", "1Gi");
    await w.until(() => w.events("copy").join().includes("ProvisioningFailed"), "an event");
    expect(w.events("copy").join()).toContain(
      "its size is 3Gi, and the claim asks for 1Gi. Ask for at least 3Gi in the claim.",
    );
    expect(w.cloud.volumes.list()).toHaveLength(1);
  });

  test.each([
    [
      { apiGroup: "example.com", kind: "Backup", name: "old" },
      "The data source old is a example.com/Backup, and must be a VolumeSnapshot or a PersistentVolumeClaim",
    ],
    [
      { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "old", namespace: "other" },
      "The data source VolumeSnapshot old is in another namespace, which is not supported",
    ],
  ])("a claim with the data source %p is rejected", async (dataSourceRef, text) => {
    const w = await open();
    w.claim("copy", { spec: { dataSourceRef } });
    await w.until(() => w.events("copy").join().includes("ProvisioningFailed"), "an event");
    expect(w.events("copy").join()).toContain(text);
    expect(w.cloud.volumes.list()).toEqual([]);
  });
});

describe("a cloud without snapshots", () => {
  test("a cloud without snapshots is reported on a VolumeSnapshot and on a claim that uses it, and nothing is created", async () => {
    const provider = {
      ...fake,
      volumeDriver: { ...fake.volumeDriver, sources: [] },
      connect: (...args: Parameters<typeof fake.connect>) => {
        const cloud = fake.connect(...args);
        return { ...cloud, volumes: { ...cloud.volumes, snapshots: undefined } };
      },
    };
    const w = new SnapshotWorld({ provider });
    world = w;
    await w.start();
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound");
    w.snapshot("backup", "data");
    await w.until(() => messageOf(w) !== undefined, "a message");
    expect(messageOf(w)).toBe(
      `Failed to create snapshot content with error volumes of ${driver} have no snapshots: the cloud cannot create them. Delete the VolumeSnapshot.`,
    );
    w.restore("copy", "VolumeSnapshot", "backup");
    await w.until(() => w.events("copy").join().includes("ProvisioningFailed"), "an event");
    expect(w.events("copy").join()).toContain(
      `Volumes of ${driver} cannot be created from snapshots: the cloud cannot do that.`,
    );
    expect([w.contents(), w.cloud.volumes.list().length]).toEqual([[], 1]);
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
  });
});

describe("the volume controller", () => {
  test("the volume controller reports once that the CRDs are missing, and begins when they are installed", async () => {
    const w = new SnapshotWorld();
    world = w;
    w.readFault = (path) =>
      path.startsWith("/apis/snapshot.storage.k8s.io")
        ? new Response("404 page not found", { status: 404 })
        : undefined;
    await w.start();
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound");
    await w.pass(1200);
    const said = () => w.logged.filter((line) => line.includes("Snapshots are off")).length;
    expect(said()).toBe(1);
    expect(w.read.filter((path) => path.includes("volumesnapshots"))).toEqual([]);
    w.readFault = undefined;
    w.snapshot("backup", "data");
    await w.until(() => w.isReady("backup"), "ready", 900);
    expect(said()).toBe(1);
  });

  test("the volume controller leaves VolumeSnapshots to a running snapshot-controller, and creates their snapshots", async () => {
    const w = new SnapshotWorld();
    world = w;
    const lease = { namespace: "kube-system", name: "snapshot-controller-leader" };
    let renewals = 0;
    const renew = (isNew = false): void => {
      const renewTime = new Date(w.clock.now() + renewals++).toISOString().replace("Z", "000Z");
      const spec = { holderIdentity: "snapshot-controller-0", renewTime };
      const leases = resourceNamed("leases");
      if (isNew) {
        const draft = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: lease, spec };
        w.server.objects.create(leases, lease.namespace, draft);
      } else w.server.objects.patch(leases, lease.namespace, lease.name, "", (now) => ({ ...now, spec }));
    };
    renew(true);
    await w.start();
    w.claim("data");
    await w.until(() => w.isBound("data"), "bound");
    w.snapshot("backup", "data");
    for (let passed = 0; passed < 120; passed += 5) {
      renew();
      await w.pass(5);
    }
    expect(w.getSnapshot("backup").status).toBeUndefined();
    expect(w.logged.join()).toContain(
      "A snapshot-controller is running: its Lease kube-system/snapshot-controller-leader is being renewed.",
    );
    // The object that the snapshot-controller creates.
    const { uid } = w.getSnapshot("backup").metadata;
    w.createContent(`snapcontent-${uid}`, {
      source: { volumeHandle: "v1" },
      volumeSnapshotClassName: "fake",
      volumeSnapshotRef: { name: "backup", namespace: "default", uid },
    });
    const isTaken = () => contentOf(w)?.status?.readyToUse === true;
    for (let passed = 0; passed < 300 && !isTaken(); passed += 5) {
      renew();
      await w.pass(5);
    }
    expect([isTaken(), w.getSnapshot("backup").status]).toEqual([true, undefined]);
    // The snapshot-controller no longer renews its Lease.
    await w.until(() => w.isReady("backup"), "ready", 900);
    expect(w.cloud.snapshots.list()).toHaveLength(1);
  });
});
