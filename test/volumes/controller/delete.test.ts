import { afterEach, describe, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import type { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

/** Bound claims, `data-0` and so on. */
async function bound(
  count: number,
  ofClass: Parameters<VolumeWorld["createClass"]>[1] = {},
): Promise<VolumeWorld> {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start();
  w.createClass("used", ofClass);
  const names = Array.from({ length: count }, (_, index) => `data-${index}`);
  for (const name of names) w.claim(name, { spec: { storageClassName: "used" } });
  await w.until(() => names.every((name) => w.isBound(name)), "bound");
  await w.pass(5);
  w.forget();
  return w;
}

/** Deletes the claims while no manager runs, so that their deletion is not seen. */
async function deleteUnseen(w: VolumeWorld, count: number): Promise<void> {
  await w.stop();
  for (let index = 0; index < count; index += 1) w.deleteClaim(`data-${index}`);
  await w.pass(1);
  await w.start();
}

const eventsOfVolumes = (w: VolumeWorld) => w.volumes().flatMap(({ metadata }) => w.events(metadata.name));

describe("the volume of a claim", () => {
  test("deletes a volume with its claim, without a limit for deletions that were seen", async () => {
    const w = await bound(10);
    const [{ metadata } = { metadata: { name: "" } }] = w.volumes();
    for (let index = 0; index < 10; index += 1) w.deleteClaim(`data-${index}`);
    await w.until(() => w.volumes().length === 0, "deleted", 10);
    expect(w.cloud.volumes.list()).toEqual([]);
    await w.pass(1);
    expect(w.events(metadata.name).join()).toMatch(
      /^Normal VolumeDeleted Volume v\d+ of the claim default\/data-\d was deleted$/,
    );
    expect(w.logged.filter((line) => line.includes("VolumeDeleted"))).toHaveLength(10);
  });

  test("keeps a volume with the reclaim policy Retain, and its PersistentVolume has no finalizer of the provisioner", async () => {
    const w = await bound(1, { reclaimPolicy: "Retain" });
    expect(w.volumes()[0]?.metadata.finalizers ?? []).toEqual([]);
    w.deleteClaim("data-0");
    await w.pass(1800);
    expect([w.cloud.volumes.list().length, w.changes]).toEqual([1, []]);
  });

  test("keeps the finalizer of a PersistentVolume only as long as the reclaim policy is Delete", async () => {
    const w = await bound(1);
    const finalizers = () => w.volumes()[0]?.metadata.finalizers ?? [];
    const setPolicy = (persistentVolumeReclaimPolicy: string) =>
      w.changeVolume(w.volumes()[0]?.metadata.name ?? "", (now) => ({
        ...now,
        spec: { ...now.spec, persistentVolumeReclaimPolicy },
      }));
    setPolicy("Retain");
    await w.pass(2);
    expect(finalizers()).toEqual([]);
    setPolicy("Delete");
    await w.pass(2);
    expect(finalizers()).toEqual(["external-provisioner.volume.kubernetes.io/finalizer"]);
  });

  test("deletes a volume after two proofs by the API server if the deletion of the claim was not seen", async () => {
    const w = await bound(10);
    await deleteUnseen(w, 1);
    await w.pass(20);
    expect(w.changes).toEqual([]);
    await w.until(() => w.volumes().length === 9, "deleted", 60);
    expect(w.cloud.volumes.list()).toHaveLength(9);
  });

  test("keeps volumes, with a message, when more claims than the mass limit allows have vanished unseen, until a release", async () => {
    const w = await bound(10);
    await deleteUnseen(w, 3);
    await w.pass(1800);
    expect([w.cloud.volumes.list().length, w.changes]).toEqual([10, []]);
    expect(eventsOfVolumes(w).filter((text) => text.includes("MassDeletionHeld"))).toEqual(
      Array(3).fill(
        expect.stringContaining(
          "3 of 10 PersistentVolumes were released by claims whose deletion was not seen, and 0 volumes were removed in the last 10 minutes. More than 2 at once is treated as a fault of the API server, so nothing is deleted or detached because of this.",
        ),
      ),
    );
    const held = w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;
    expect(held).toHaveLength(3);
    (w.manager.removals as RemovalMemory).release("volumes");
    await w.until(() => w.volumes().length === 7, "deleted", 120);
  });

  test("does not count a volume as missing when its PersistentVolume could not be deleted with it", async () => {
    const w = await bound(6);
    w.kubeFault = (method, path) =>
      method === "DELETE" && path.includes("/persistentvolumes/")
        ? new Response("{}", { status: 503 })
        : undefined;
    for (let index = 0; index < 6; index += 1) w.deleteClaim(`data-${index}`);
    await w.pass(240);
    w.kubeFault = undefined;
    await w.until(() => w.volumes().length === 0, "deleted", 120);
    expect(eventsOfVolumes(w).join()).not.toContain("MassDeletionHeld");
  });

  test("deletes a volume that the cloud briefly hides afterwards, and its PersistentVolume last", async () => {
    const w = await bound(1);
    w.cloud.view = { ...trueView, volumes: () => [] };
    w.deleteClaim("data-0");
    await w.pass(20);
    expect(w.volumes().length).toBe(1);
    w.cloud.view = trueView;
    await w.until(() => w.volumes().length === 0, "deleted", 60);
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test.each([
    ["an administrator has saved it", { persistentVolumeReclaimPolicy: "Retain" }],
    ["another claim has it", { claimRef: { namespace: "default", name: "other", uid: "u-2" } }],
    ["another PersistentVolume has it", undefined],
  ])("keeps a volume when %s and the cache of PersistentVolumes does not show it yet", async (_, changed) => {
    const w = await bound(1);
    const [volume] = w.volumes();
    const status = { phase: "Released" };
    const current = { ...volume, status, spec: { ...volume?.spec, ...changed } };
    const copy = { ...volume, metadata: { name: "copy", uid: "u-3" }, status: { phase: "Available" } };
    const items = changed === undefined ? [current, copy] : [current];
    w.readFault = (path, query) =>
      path.endsWith("/persistentvolumes") && !query.has("watch")
        ? Response.json({ kind: "PersistentVolumeList", metadata: { resourceVersion: "9" }, items })
        : undefined;
    w.deleteClaim("data-0");
    await w.pass(240);
    expect([w.cloud.volumes.list().length, w.changes]).toEqual([1, []]);
  });

  test("keeps a volume when its claim is back and the cache of claims does not show it yet", async () => {
    const w = await bound(1);
    w.binds = false;
    const claim = w.getClaim("data-0");
    const { name } = w.volumeOf("data-0").metadata;
    w.readFault = (path) =>
      path.endsWith("/persistentvolumeclaims/data-0") ? Response.json(claim) : undefined;
    w.deleteClaim("data-0");
    w.changeVolume(name, (now) => ({ ...now, status: { phase: "Released" } }), "status");
    await w.pass(240);
    expect([w.cloud.volumes.list().length, w.changes]).toEqual([1, []]);
    expect(eventsOfVolumes(w).join()).toContain("but its claim default/data-0 exists");
  });

  test("needs two proofs again when a restored API server has the deleted claim", async () => {
    const w = await bound(1);
    const claim = w.server.store.get("persistentvolumeclaims", "default", "data-0") as KubeObject;
    w.cloud.faults.add({ kind: "status", status: 503, operation: "DELETE /volumes/{id}", calls: 1_000 });
    w.deleteClaim("data-0");
    await w.pass(60);
    w.server.store.put(resourceNamed("persistentvolumeclaims"), claim);
    await w.pass(60);
    w.cloud.faults.clear();
    w.forget();
    // The open watches end after five minutes at most, and the next list lacks the claim.
    w.server.faults.intercept = (_, { verb, plural }) =>
      verb === "watch" && plural === "persistentvolumeclaims" ? "drop" : undefined;
    await w.pass(300);
    w.server.store.remove(resourceNamed("persistentvolumeclaims"), claim);
    w.server.compact();
    w.server.faults.intercept = undefined;
    await w.until(() => w.volumes().length === 0, "deleted", 400);
    // Two reads, and one more before and after the deletion is recorded.
    expect(w.read.filter((path) => path.endsWith("/persistentvolumeclaims/data-0")).length).toBe(4);
  });

  test("keeps a volume when its PersistentVolume is released and the claim exists", async () => {
    const w = await bound(1);
    w.binds = false;
    w.changeVolume(
      w.volumeOf("data-0").metadata.name,
      (now) => ({ ...now, status: { phase: "Released" } }),
      "status",
    );
    await w.pass(1800);
    expect(w.changes).toEqual([]);
    expect(eventsOfVolumes(w).at(-1)).toContain(
      "but its claim default/data-0 exists, so its volume is not deleted",
    );
  });

  test("does not report a volume as kept while only the cache has its claim", async () => {
    const w = await bound(1);
    w.binds = false;
    const gone = { kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
    w.readFault = (path) =>
      path.endsWith("/persistentvolumeclaims/data-0") ? Response.json(gone, { status: 404 }) : undefined;
    w.changeVolume(
      w.volumeOf("data-0").metadata.name,
      (now) => ({ ...now, status: { phase: "Released" } }),
      "status",
    );
    await w.pass(30);
    expect([eventsOfVolumes(w), w.changes]).toEqual([[], []]);
    w.readFault = undefined;
    await w.pass(120);
    expect(eventsOfVolumes(w).join()).toContain("but its claim default/data-0 exists");
    expect(w.changes).toEqual([]);
  });

  test("keeps a volume when another PersistentVolume has the same volume", async () => {
    const w = await bound(1);
    const { csi } = w.volumeOf("data-0").spec ?? {};
    w.createVolume("copy", { spec: { persistentVolumeReclaimPolicy: "Retain", csi: { ...csi } } });
    w.deleteClaim("data-0");
    await w.pass(1800);
    expect(w.changes).toEqual([]);
    expect(eventsOfVolumes(w).at(-1)).toContain("The PersistentVolume copy has the same volume v1 as pvc-");
  });

  test("keeps a volume when its PersistentVolume does not name its former claim", async () => {
    const w = await bound(1);
    const { csi } = w.volumeOf("data-0").spec ?? {};
    w.createVolume("strange", { spec: { csi: { ...csi, volumeHandle: "v7" } } });
    w.changeVolume("strange", (now) => ({ ...now, status: { phase: "Released" } }), "status");
    await w.pass(1800);
    expect(w.changes).toEqual([]);
    expect(w.events("strange").at(-1)).toContain("does not say from which claim (claimRef.uid)");
  });

  test("does not delete an attached volume, which waits without a warning", async () => {
    const w = await bound(1);
    const [node] = w.nodesFor("data-0");
    const name = w.attach("data-0", node);
    await w.until(() => w.isAttached(name), "attached");
    w.forget();
    const { name: volume } = w.volumeOf("data-0").metadata;
    w.deleteClaim("data-0");
    await w.pass(600);
    expect(w.changes).toEqual([]);
    expect(w.events(volume)).toEqual([
      `Normal VolumeDelete persistentvolume ${volume} is still attached to node ${node}, waiting for detach`,
    ]);
    w.detach(name);
    await w.until(() => w.volumes().length === 0, "deleted", 60);
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test("does not delete a volume that is attached to a machine in the cloud, whatever Kubernetes shows", async () => {
    const w = await bound(1);
    const machine = w.machineOf(w.nodesFor("data-0")[0]);
    w.cloud.volumes.change("v1", { machine });
    w.deleteClaim("data-0");
    await w.pass(900);
    expect(w.cloud.volumes.get("v1").machine).toBe(machine);
    expect(eventsOfVolumes(w).at(-1)).toContain(
      "so it is not deleted. Delete the pods that use it, or detach it.",
    );
  });
});

describe("a PersistentVolume that another program made", () => {
  test("adds the node affinity and the zone and region labels of its volume to a PersistentVolume, once [S5]", async () => {
    const w = await bound(1);
    const { zone } = w.cloud.volumes.get("v1");
    for (const name of w.nodesFor("data-0"))
      w.changeNode(name, ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, labels: { ...metadata.labels, "topology.kubernetes.io/region": "north" } },
      }));
    w.createVolume("manual", { spec: { csi: { driver: "csi.fake.example", volumeHandle: "v1" } } });
    const manual = () => w.volumes().find(({ metadata }) => metadata.name === "manual");
    await w.until(() => manual()?.spec?.nodeAffinity !== undefined, "the affinity");
    const matchExpressions = [{ key: "topology.fake.example/zone", operator: "In", values: [zone] }];
    expect(manual()).toMatchObject({
      metadata: {
        labels: {
          "topology.fake.example/zone": zone,
          "topology.kubernetes.io/zone": zone,
          "topology.kubernetes.io/region": "north",
        },
      },
      spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } },
    });
    expect(w.asked).toEqual(["GET /volumes/v1"]);
    await w.pass(3600);
    expect(w.asked).toEqual(["GET /volumes/v1"]);
  });

  test("ignores a PersistentVolume without node affinity if a provisioner created it", async () => {
    const w = await bound(1);
    w.createVolume("old", {
      metadata: { annotations: { "pv.kubernetes.io/provisioned-by": "csi.fake.example" } },
      spec: { csi: { driver: "csi.fake.example", volumeHandle: "v1" } },
    });
    await w.pass(600);
    expect([w.asked, w.written]).toEqual([[], []]);
  });

  test("keeps the node affinity and labels that a PersistentVolume already has", async () => {
    const w = await bound(1);
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [] }] } };
    const csi = { driver: "csi.fake.example", volumeHandle: "v1" };
    w.createVolume("manual", { metadata: { labels: { a: "b" } }, spec: { csi, nodeAffinity } });
    await w.pass(600);
    const manual = w.volumes().find(({ metadata }) => metadata.name === "manual");
    expect([manual?.metadata.labels, manual?.spec?.nodeAffinity as unknown]).toEqual([
      { a: "b" },
      nodeAffinity,
    ]);
    expect(w.asked).toEqual([]);
  });

  test("reports a PersistentVolume whose volume the cloud does not have, without further requests", async () => {
    const w = await bound(1);
    w.createVolume("manual", { spec: { csi: { driver: "csi.fake.example", volumeHandle: "v9" } } });
    await w.pass(3600);
    expect(w.events("manual").at(-1)).toContain(
      "The volume v9 of the PersistentVolume manual does not exist",
    );
    expect(w.asked).toEqual(["GET /volumes/v9"]);
  });
});
