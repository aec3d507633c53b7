import { afterEach, describe, expect, test } from "bun:test";
import { Refusal } from "../../../providers/fake/simulator/answer.ts";
import { seconds } from "../../../src/core/brand.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { driver, VolumeWorld, zoneKey } from "../../support/volume-world.ts";

const selected = "volume.kubernetes.io/selected-node";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

async function open(...flags: readonly string[]): Promise<VolumeWorld> {
  const w = new VolumeWorld();
  world = w;
  await w.start(...flags);
  return w;
}

const bound = async (w: VolumeWorld, ...claims: readonly string[]): Promise<void> => {
  await w.until(() => claims.every((claim) => w.isBound(claim)), `${claims.join(", ")} bound`);
};

describe("a claim", () => {
  test("creates no second volume for a claim while the cache lacks its PersistentVolume and the cloud hides the volume", async () => {
    const w = await open();
    const metadata = { name: "pvc", uid: "u", resourceVersion: "1" };
    w.readFault = (path) =>
      path.startsWith("/api/v1/persistentvolumes/pvc-") ? Response.json({ metadata, spec: {} }) : undefined;
    w.claim("data");
    await w.pass(300);
    expect(w.changes).toEqual([]);
    w.readFault = undefined;
    await bound(w, "data");
    expect(w.cloud.volumes.list()).toHaveLength(1);
  });

  test("creates a volume and a PersistentVolume with the names and annotations of external-provisioner", async () => {
    const w = await open();
    w.claim("data", { size: "1500Mi" });
    await bound(w, "data");
    const { uid } = w.getClaim("data").metadata;
    const { metadata, spec } = w.volumeOf("data");
    expect(metadata).toMatchObject({
      name: `pvc-${uid}`,
      annotations: {
        "pv.kubernetes.io/provisioned-by": driver,
        "volume.kubernetes.io/provisioner-deletion-secret-name": "",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
      },
      finalizers: ["external-provisioner.volume.kubernetes.io/finalizer"],
    });
    expect(spec).toMatchObject({
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "2Gi" },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "default", name: "data", uid },
      csi: {
        driver,
        volumeHandle: "v1",
        fsType: "ext4",
        volumeAttributes: { "storage.kubernetes.io/csiProvisionerIdentity": expect.stringContaining(driver) },
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [{ key: zoneKey, operator: "In", values: [w.cloud.volumes.list()[0]?.zone] }],
            },
          ],
        },
      },
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "fake",
      volumeMode: "Filesystem",
    });
    await w.pass(1);
    expect(w.events("data")).toEqual([
      'Normal Provisioning External provisioner is provisioning volume for claim "default/data"',
      `Normal ProvisioningSucceeded Successfully provisioned volume pvc-${uid}`,
    ]);
    expect(w.changes).toEqual(["POST /volumes"]);
  });

  test("creates the volumes of 50 simultaneous claims in at most 55 calls without pages", async () => {
    const w = await open();
    const names = Array.from({ length: 50 }, (_, index) => `data-${index}`);
    for (const name of names) w.claim(name);
    await bound(w, ...names);
    const calls = w.asked.filter((what) => what !== "GET /volumes");
    expect(calls.length).toBeLessThanOrEqual(55);
    expect(w.cloud.volumes.list()).toHaveLength(50);
  });

  test("creates 20 volumes at a time for 100 simultaneous claims", async () => {
    const w = await open();
    w.cloud.volumes.actionTime = seconds(20);
    const names = Array.from({ length: 100 }, (_, index) => `data-${index}`);
    for (const name of names) w.claim(name);
    await w.pass(10);
    expect(w.changes).toEqual(Array(20).fill("POST /volumes"));
    await bound(w, ...names);
  });

  test("creates a volume in the zone of the selected Node for a StorageClass that waits for a consumer", async () => {
    const w = await open();
    w.createClass("late", { volumeBindingMode: "WaitForFirstConsumer" });
    w.claim("data", { spec: { storageClassName: "late" } });
    await w.pass(60);
    expect(w.changes).toEqual([]);
    w.changeClaim("data", ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [selected]: "node-1" } },
    }));
    await bound(w, "data");
    expect(w.nodesFor("data")).toContain("node-1");
  });

  test.each([
    [
      "a Node that does not exist",
      "node-9",
      "The scheduler selected the Node node-9, where volumes of csi.fake.example cannot be used: it does not exist.",
    ],
    [
      "a Node outside the allowed topologies",
      "node-1",
      "which allowedTopologies of the StorageClass narrow does not include.",
    ],
  ])("returns a claim to the scheduler with %s", async (_, node, text) => {
    const w = await open();
    const zone = w.cloud.machines.find(w.machineOf("node-0"))[0]?.zone ?? "";
    w.createClass("narrow", {
      volumeBindingMode: "WaitForFirstConsumer",
      allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: [zone] }] }],
    });
    w.claim("data", { annotations: { [selected]: node }, spec: { storageClassName: "narrow" } });
    await w.until(() => w.getClaim("data").metadata.annotations?.[selected] === undefined, "the scheduler");
    await w.pass(1);
    expect(w.events("data").at(-1)).toContain(text);
    expect(w.changes).toEqual([]);
  });

  test("returns a claim to the scheduler when the cloud has no capacity", async () => {
    const w = await open();
    w.createClass("late", { volumeBindingMode: "WaitForFirstConsumer" });
    const refuse = (): never => {
      throw new Refusal(403, "limit_exceeded", "no more volumes");
    };
    Object.assign(w.cloud.volumes, { create: refuse });
    w.claim("data", { annotations: { [selected]: "node-1" }, spec: { storageClassName: "late" } });
    await w.until(() => w.getClaim("data").metadata.annotations?.[selected] === undefined, "the scheduler");
    await w.pass(1);
    expect(w.events("data").at(-1)).toContain(
      "Warning ProvisioningFailed A quota of the cloud account is exhausted",
    );
  });

  test.each([
    ["an unknown value", { parameters: { tier: "fats" } }, {}, 'did you mean "fast"? Create'],
    [
      "a secret",
      { parameters: { "csi.storage.k8s.io/node-publish-secret-name": "key" } },
      {},
      "secrets are not supported, so no volume is created.",
    ],
    [
      "another topology key",
      {
        allowedTopologies: [
          { matchLabelExpressions: [{ key: "topology.fake.example/zona", values: ["a"] }] },
        ],
      },
      {},
      "Did you mean topology.fake.example/zone?",
    ],
    [
      "an access mode for many writers",
      {},
      { accessModes: ["ReadWriteMany"] },
      "Use ReadWriteOnce or ReadWriteOncePod.",
    ],
    [
      "a snapshot",
      {},
      { dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" } },
      "The VolumeSnapshot s does not exist, so no volume is created yet.",
    ],
    [
      "a size that is too large",
      {},
      { resources: { requests: { storage: "2Ti" } } },
      "No volume has a size of 2048Gi",
    ],
  ])(
    "rejects a claim with %s, reports the remedy, and creates nothing",
    async (_, ofClass, ofClaim, text) => {
      const w = await open();
      w.createClass("wrong", ofClass);
      w.claim("data", { spec: { storageClassName: "wrong", ...ofClaim } });
      await w.until(() => w.events("data").length > 0, "an event");
      expect(w.events("data").at(-1)).toStartWith("Warning ProvisioningFailed ");
      expect(w.events("data").at(-1)).toContain(text);
      await w.pass(600);
      expect(w.changes).toEqual([]);
      expect(w.events("data")).toHaveLength(1);
    },
  );

  test("leaves no volume behind for a claim that was deleted while its volume was created", async () => {
    const w = await open();
    w.claim("data");
    await w.until(() => w.changes.length > 0, "the creation");
    w.binds = false;
    w.deleteClaim("data");
    await w.until(() => w.volumes().length > 0, "the PersistentVolume");
    // kube-controller-manager releases a volume whose claim is gone.
    const [volume] = w.volumes();
    w.changeVolume(
      volume?.metadata.name ?? "",
      (now) => ({ ...now, status: { phase: "Released" } }),
      "status",
    );
    await w.until(() => w.volumes().length === 0, "the deletion");
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test("leaves no volume behind for a claim that was deleted after the response to a creation was lost", async () => {
    const w = await open();
    w.cloud.faults.add({ kind: "lost-answer", operation: "POST /volumes" });
    w.claim("data");
    await w.until(() => w.cloud.volumes.list().length > 0, "the creation");
    w.cloud.faults.add({ kind: "status", status: 401, operation: "GET /volumes", calls: 2 });
    w.binds = false;
    w.deleteClaim("data");
    await w.until(() => w.volumes().length > 0, "the PersistentVolume", 900);
    expect(w.cloud.volumes.list()).toHaveLength(1);
    const { name } = w.volumes()[0]?.metadata ?? { name: "" };
    w.changeVolume(name, (now) => ({ ...now, status: { phase: "Released" } }), "status");
    await w.until(() => w.volumes().length === 0, "the deletion");
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test("does not retry a claim that was deleted after the cloud rejected its volume", async () => {
    const w = await open();
    w.cloud.faults.add({ kind: "status", status: 422, operation: "POST /volumes" });
    w.claim("data");
    await w.until(() => w.events("data").join().includes("ProvisioningFailed"), "an event");
    w.deleteClaim("data");
    const before = w.asked.length;
    await w.pass(900);
    expect([w.asked.length - before, w.volumes(), w.cloud.volumes.list()]).toEqual([0, [], []]);
  });

  test("leaves no volume behind for a claim that was deleted while its PersistentVolume could not be written", async () => {
    const w = await open();
    w.claim("data");
    w.kubeFault = (method) => (method === "POST" ? new Response("{}", { status: 503 }) : undefined);
    await w.until(() => w.cloud.volumes.list().length > 0, "the creation");
    await w.pass(5);
    w.deleteClaim("data");
    await w.pass(5);
    w.kubeFault = undefined;
    await w.until(() => w.volumes().length > 0, "the PersistentVolume");
    const { name } = w.volumes()[0]?.metadata ?? { name: "" };
    w.changeVolume(name, (now) => ({ ...now, status: { phase: "Released" } }), "status");
    await w.until(() => w.volumes().length === 0, "the deletion");
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test("ignores a claim of another provisioner", async () => {
    const w = await open();
    w.createClass("other", { provisioner: "other.example" });
    w.claim("data", { spec: { storageClassName: "other" } });
    await w.pass(60);
    expect([w.asked, w.written]).toEqual([[], []]);
  });

  test("only plans the volume of a claim in observe mode", async () => {
    const w = await open("--mode=observe");
    w.claim("data");
    await w.pass(60);
    expect([w.asked, w.written, w.volumes()]).toEqual([[], [], []]);
    expect(w.manager.report().journal).toMatchObject([{ action: "CreateVolume", outcome: "observed" }]);
  });
});

describe("the volume controller", () => {
  test.each([
    "csi-fake-example",
    "external-attacher-leader-csi-fake-example",
    "external-resizer-csi-fake-example",
  ])(
    "the volume controller waits while a sidecar renews the Lease %s, and starts when the sidecar has stopped",
    async (name) => {
      const w = new VolumeWorld();
      world = w;
      w.renewSidecar(name);
      await w.start();
      w.claim("data");
      for (let time = 0; time < 60; time += 5) {
        w.renewSidecar(name);
        await w.pass(5);
      }
      expect(w.asked).toEqual([]);
      expect(w.logged.join()).toContain(`its Lease kube-system/${name} is being renewed`);
      await bound(w, "data");
    },
  );

  test("the volume controller does not wait for a Lease with a sidecar's name in the namespace of a tenant", async () => {
    const w = new VolumeWorld();
    world = w;
    w.renewSidecar("csi-fake-example", "default");
    await w.start();
    w.claim("data");
    for (let time = 0; time < 90; time += 5) {
      w.renewSidecar("csi-fake-example", "default");
      await w.pass(5);
    }
    expect(w.isBound("data")).toBe(true);
    expect(w.logged.join()).not.toContain("SidecarRunning");
  });

  test("the volume controller stops when a sidecar starts", async () => {
    const w = await open();
    w.claim("data");
    await bound(w, "data");
    for (let time = 0; time < 120; time += 5) {
      w.renewSidecar("csi-fake-example");
      await w.pass(5);
    }
    w.forget();
    w.claim("more");
    for (let time = 0; time < 60; time += 5) {
      w.renewSidecar("csi-fake-example");
      await w.pass(5);
    }
    expect(w.asked).toEqual([]);
    await bound(w, "more");
  });

  test.if(runsAllTests)(
    "the volume controller sends no request to the cloud for 500 volumes at rest, even after a restart",
    async () => {
      const w = await open();
      const names = Array.from({ length: 500 }, (_, index) => `data-${index}`);
      for (const name of names) w.claim(name);
      await bound(w, ...names);
      await w.pass(60);
      w.forget();
      await w.pass(3600);
      expect([w.asked, w.written]).toEqual([[], []]);
      await w.stop();
      await w.start();
      await w.pass(3600);
      expect([w.asked, w.written]).toEqual([[], []]);
    },
  );
});
