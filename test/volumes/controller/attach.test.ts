import { afterEach, describe, expect, test } from "bun:test";
import { Refusal } from "../../../providers/fake/simulator/answer.ts";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import type { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

/** A claim whose volume is attached and in use. */
async function attached(
  nodes = 6,
  controllers = "volume",
): Promise<{
  readonly w: VolumeWorld;
  readonly node: string;
  readonly other: string;
  readonly name: string;
  readonly machine: string;
}> {
  const w = new VolumeWorld({ nodes, controllers });
  world = w;
  await w.start();
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound");
  const [node, other] = w.nodesFor("data");
  const name = w.attach("data", node);
  await w.until(() => w.isAttached(name), "attached");
  w.setInUse(node, ["data"]);
  await w.pass(5);
  w.forget();
  return { w, node, other, name, machine: w.machineOf(node) };
}

const isAttachedInCloud = (w: VolumeWorld): boolean => w.cloud.volumes.get("v1").machine !== null;
const detached = (w: VolumeWorld, name: string) => () => w.attachment(name) === undefined;
const messageOn = (w: VolumeWorld, name: string) => w.attachment(name)?.status?.detachError?.message ?? "";

describe("a volume that is to be detached", () => {
  test("detaches a volume when its kubelet has unmounted it, without a request about the machine", async () => {
    const { w, node, name } = await attached();
    w.setInUse(node, []);
    w.setReady(node, "False");
    w.detach(name);
    await w.until(detached(w, name), "detached", 5);
    expect(w.changes).toEqual(["PATCH /volumes/v1"]);
    expect(w.events(name)).toEqual([]);
  });

  test("keeps a volume attached while the kubelet has mounted it and the machine runs, and reports the wait on the VolumeAttachment and the Node", async () => {
    const { w, node, name, machine } = await attached();
    w.changeNode(node, (now) => ({
      ...now,
      status: { ...now.status, conditions: [{ type: "Ready", status: "Unknown" }] },
    }));
    w.detach(name);
    await w.pass(3600);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(w.changes).toEqual([]);
    const pv = w.volumeOf("data").metadata.name;
    const message = `The kubelet of the Node ${node} has not reported that the volume is unmounted, and machine ${machine} may still write to it. The volume ${pv} is not detached before the machine is proved to be stopped or gone. If you are sure that it does not run, run \`kubectl taint node ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\`.`;
    expect(messageOn(w, name)).toBe(message);
    for (const object of [name, node])
      expect(w.events(object)).toContain(`Warning DetachmentWaits ${message}`);
    // One request a minute about the machine, and none about the volume.
    expect(w.asked.length).toBeLessThanOrEqual(0);
    expect(w.cloud.seen.length).toBeLessThanOrEqual(130);
    w.setInUse(node, []);
    await w.until(detached(w, name), "detached", 5);
  });

  test("keeps a volume attached when another PersistentVolume with the same volume is to be attached elsewhere", async () => {
    const { w, node, other, name, machine } = await attached();
    w.setInUse(node, []);
    w.setReady(node, "True");
    const { csi } = w.volumeOf("data").spec ?? {};
    const csiOfCopy = { driver: csi?.driver ?? "", volumeHandle: csi?.volumeHandle ?? "" };
    w.createVolume("copy", { spec: { csi: csiOfCopy, persistentVolumeReclaimPolicy: "Retain" } });
    w.server.objects.create(resourceNamed("volumeattachments"), "", {
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: { name: "second" },
      spec: { attacher: csiOfCopy.driver, nodeName: other, source: { persistentVolumeName: "copy" } },
    });
    await w.pass(600);
    expect([w.cloud.volumes.get("v1").machine, w.isAttached(name)]).toEqual([machine, true]);
    expect(w.events("second").join("\n")).toContain("is attached to machine");
  });

  test("moves a volume when the kubelet reports the unmount a moment after the attachment was deleted, without a warning", async () => {
    const { w, node, name } = await attached();
    w.detach(name);
    await w.pass(2);
    w.setInUse(node, []);
    await w.until(detached(w, name), "detached", 5);
    expect(w.events(name)).toEqual([]);
  });

  test("detaches a volume from a Node that an administrator has put out of service", async () => {
    const { w, node, name } = await attached();
    w.detach(name);
    await w.pass(60);
    expect(isAttachedInCloud(w)).toBe(true);
    w.changeNode(node, ({ spec, ...rest }) => ({
      ...rest,
      spec: {
        ...spec,
        taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "x" }],
      },
    }));
    await w.until(detached(w, name), "detached", 5);
  });

  test.each(["stopped", "removed"] as const)(
    "detaches a volume from a machine that is %s, after two proofs",
    async (what) => {
      const { w, name, machine } = await attached();
      if (what === "stopped") w.cloud.machines.setStatus(machine, "stopped");
      else w.cloud.machines.remove(machine);
      w.detach(name);
      await w.pass(20);
      expect(w.attachment(name)).toBeDefined();
      await w.until(detached(w, name), "detached", 180);
    },
  );

  test("keeps a volume attached when the cloud briefly hides a machine that runs", async () => {
    const { w, node, name, machine } = await attached();
    w.cloud.faults.hide({ resource: machine, from: "both", milliseconds: 20_000 });
    w.detach(name);
    await w.pass(1800);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toContain(`The kubelet of the Node ${node} has not reported`);
  });

  test("keeps a volume attached when its Node was deleted and the machine runs", async () => {
    const { w, node, name, machine } = await attached();
    w.removeNode(node);
    w.detach(name);
    await w.pass(1800);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toStartWith(
      `The Node ${node} no longer exists, and machine ${machine} may still`,
    );
    w.cloud.machines.remove(machine);
    await w.until(detached(w, name), "detached", 180);
  });

  test("keeps a volume attached when a new machine has the name of its Node", async () => {
    const { w, node, name, machine } = await attached();
    w.changeNode(node, (now) => ({ ...now, spec: { providerID: "fake://99" }, status: {} }));
    w.detach(name);
    await w.pass(600);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toStartWith(
      `The Node ${node} has a different machine now, and machine ${machine}`,
    );
  });

  test("keeps a volume attached when its Node was recreated and is not Ready, and detaches it when the Node is Ready", async () => {
    const { w, node, name } = await attached();
    await w.pass(5);
    w.changeNode(node, ({ metadata, spec }) => ({
      spec,
      metadata: { ...metadata, uid: "again", creationTimestamp: new Date(w.clock.now()).toISOString() },
      status: {},
    }));
    w.detach(name);
    await w.pass(600);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toStartWith(
      `The Node ${node} was created again after the volume was attached`,
    );
    w.setReady(node, "True");
    await w.until(detached(w, name), "detached", 180);
  });

  test("keeps a volume attached while the cloud does not answer", async () => {
    const { w, name } = await attached();
    w.cloud.faults.add({ kind: "refused", calls: 1_000_000 });
    w.detach(name);
    await w.pass(1800);
    expect(isAttachedInCloud(w)).toBe(true);
  });

  test("moves a volume to another Node only when the volume is detached from the first Node", async () => {
    const { w, node, other, name } = await attached();
    const second = w.attach("data", other);
    await w.pass(60);
    expect(w.isAttached(second)).toBe(false);
    expect(w.attachment(second)?.status?.attachError?.message).toContain(
      "It is never detached while it may be in use there.",
    );
    w.setInUse(node, []);
    w.detach(name);
    await w.until(() => w.isAttached(second), "attached", 400);
    expect(w.cloud.volumes.get("v1").machine).toBe(w.machineOf(other));
  });

  test("detaches a volume that the kubelet no longer uses although the next pod on the Node waits for it", async () => {
    const { w, node, name } = await attached();
    w.setInUse(node, []);
    w.cloud.faults.add({ kind: "status", status: 503, operation: "PATCH /volumes/{id}" });
    w.detach(name);
    await w.until(() => messageOn(w, name) !== "", "the failure");
    // A kubelet reports a volume before it mounts it, and does not mount it while its attachment is being deleted.
    w.setInUse(node, ["data"]);
    w.crash();
    await w.start();
    await w.until(detached(w, name), "detached", 60);
  });

  test("keeps a volume attached when the Node shows the volume in use, although the cache does not show it yet", async () => {
    const { w, node, name, machine } = await attached();
    const current = w.server.store.get("nodes", undefined, node);
    w.readFault = (path) => (path.endsWith(`/nodes/${node}`) ? Response.json(current) : undefined);
    w.setInUse(node, []);
    w.detach(name);
    await w.pass(600);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toContain(`machine ${machine} may still write to it`);
    w.readFault = undefined;
    await w.until(detached(w, name), "detached", 120);
  });

  test.each(["volume", "volume,cloud-node-lifecycle"])(
    "keeps a volume attached while the cloud hides many machines, until a release, with --controllers=%s",
    async (controllers) => {
      const { w, node, name, machine } = await attached(6, controllers);
      for (const { id, name: hidden } of w.cloud.machines.list()) {
        w.cloud.faults.hide({ resource: id, from: "both", milliseconds: 7_200_000 });
        w.changeNode(hidden, (now) => ({
          ...now,
          status: { ...now.status, conditions: [{ type: "Ready", status: "Unknown" }] },
        }));
      }
      // Other machines of the cluster lose their Nodes.
      w.removeNode("node-5");
      w.detach(name);
      await w.pass(900);
      expect(isAttachedInCloud(w)).toBe(true);
      expect(messageOn(w, name)).toContain(`the cloud reports that machine ${machine} is gone`);
      expect(messageOn(w, name)).toContain(
        "Too many machines are missing or stopped at once: the cloud may be faulty, or its credentials may belong to another project.",
      );
      w.forget();
      await w.pass(600);
      w.crash();
      await w.start();
      await w.pass(300);
      // A hold is reported once, however often it is decided, even after a restart.
      expect(w.written.filter((what) => what.includes("/volumeattachments/"))).toEqual([]);
      expect(w.server.store.get("nodes", undefined, node)).toBeDefined();
      expect(w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held).toEqual([name]);
      (w.manager.removals as RemovalMemory).release("volumes");
      await w.until(detached(w, name), "detached", 180);
    },
  );

  test("keeps a volume attached while the cloud shows many machines as stopped, until a release", async () => {
    const { w, name } = await attached(6, "volume");
    for (const { id } of w.cloud.machines.list()) w.cloud.machines.setStatus(id, "stopped");
    w.detach(name);
    await w.pass(900);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toContain("Too many machines are missing or stopped at once");
    (w.manager.removals as RemovalMemory).release("volumes");
    await w.until(detached(w, name), "detached", 180);
  });

  test("detaches a volume from a machine that is gone although many other machines are stopped", async () => {
    const { w, name, machine } = await attached(6, "volume");
    for (const { id } of w.cloud.machines.list())
      if (id !== machine) w.cloud.machines.setStatus(id, "stopped");
    w.cloud.machines.remove(machine);
    w.detach(name);
    await w.until(detached(w, name), "detached", 300);
  });

  test("keeps a volume attached when a cloud that hid many machines shows most of them again", async () => {
    const { w, name, machine } = await attached();
    for (const { id } of w.cloud.machines.list())
      w.cloud.faults.hide({ resource: id, from: "both", milliseconds: id === machine ? 630_000 : 600_000 });
    w.detach(name);
    await w.pass(1800);
    expect(isAttachedInCloud(w)).toBe(true);
    expect(messageOn(w, name)).toContain(`machine ${machine} may still write to it`);
  });

  test("keeps the VolumeAttachment while the cloud is changing the volume", async () => {
    const { w, node, name } = await attached();
    w.setInUse(node, []);
    w.cloud.view = {
      ...trueView,
      volumes: (existing) => existing.map((volume) => ({ ...volume, machine: null, status: "changing" })),
      snapshots: (existing) => existing,
    };
    w.detach(name);
    await w.pass(300);
    expect(w.attachment(name)).toBeDefined();
    w.cloud.view = trueView;
    await w.until(detached(w, name), "detached", 400);
    expect(isAttachedInCloud(w)).toBe(false);
  });

  test("keeps the VolumeAttachment of a volume that the cloud briefly hides, and detaches it afterwards", async () => {
    const { w, node, name } = await attached();
    w.setInUse(node, []);
    w.cloud.view = { ...trueView, volumes: () => [] };
    w.detach(name);
    await w.pass(20);
    w.cloud.view = trueView;
    await w.until(detached(w, name), "detached", 60);
    expect([isAttachedInCloud(w), w.changes]).toEqual([false, ["PATCH /volumes/v1"]]);
  });

  test("reports a detachment that the cloud does not end, and completes it when the cloud ends it", async () => {
    const { w, node, name } = await attached();
    w.setInUse(node, []);
    w.cloud.volumes.actionTime = milliseconds(1_000_000);
    w.detach(name);
    await w.until(() => messageOn(w, name).includes("did not respond within 5m"), "the message", 400);
    await w.until(detached(w, name), "detached", 1800);
    expect(isAttachedInCloud(w)).toBe(false);
  });

  test("accepts the detachment of a volume that no longer exists in the cloud, without a change", async () => {
    const { w, node, name } = await attached();
    Object.assign(w.cloud.volumes, {
      get: () => {
        throw new Refusal(404, "not_found", "no such volume");
      },
      list: () => [],
    });
    w.setInUse(node, []);
    w.detach(name);
    await w.until(detached(w, name), "detached", 35);
    expect(w.changes).toEqual([]);
  });

  test("keeps the VolumeAttachment of a volume that only a lookup lacks until listing and lookup agree", async () => {
    const { w, node, name } = await attached();
    const { volumes } = w.cloud;
    const all = volumes.list();
    const lie = {
      get: () => {
        throw new Refusal(404, "not_found", "no such volume");
      },
      list: () => all,
    };
    Object.assign(volumes, lie);
    w.setInUse(node, []);
    w.detach(name);
    await w.until(() => messageOn(w, name) !== "", "the message", 60);
    expect(messageOn(w, name)).toContain("according to a lookup, but a cloud listing shows that it is");
    for (const member of Object.keys(lie)) Reflect.deleteProperty(volumes, member);
    await w.until(detached(w, name), "detached", 600);
    expect(w.changes).toEqual(["PATCH /volumes/v1"]);
  });
});

describe("a volume that is to be attached", () => {
  test("an attachment waits with a message while the machine has its maximum number of volumes", async () => {
    const w = new VolumeWorld({ nodes: 1 });
    world = w;
    await w.start();
    const names = Array.from({ length: 9 }, (_, index) => `data-${index}`);
    for (const name of names) w.claim(name);
    await w.until(() => names.every((name) => w.isBound(name)), "bound");
    const attachments = names.slice(0, 8).map((name) => w.attach(name, "node-0"));
    await w.until(() => attachments.every((name) => w.isAttached(name)), "8 attached");
    const waits = w.attach("data-8", "node-0");
    await w.until(() => w.attachment(waits)?.status?.attachError !== undefined, "the message");
    expect(w.attachment(waits)?.status?.attachError?.message).toBe(
      "The machine of the Node node-0 has 8 volumes, and can have 8. The volume is attached when there is room. Move pods with volumes to other Nodes.",
    );
    // This cloud would reject the ninth request; on other clouds the request would break the machine.
    expect(w.changes.filter((what) => what.startsWith("PATCH")).length).toBe(8);
    w.detach(attachments.find((name) => w.isAttached(name)) ?? "");
    await w.until(() => w.isAttached(waits), "attached", 10);
  });

  test.each([
    ["no VolumeAttachment and no kubelet needs the volume there", (_: VolumeWorld): void => undefined, true],
    [
      "the kubelet there uses the volume",
      (w: VolumeWorld) => w.setInUse(w.nodesFor("data")[1], ["data"]),
      false,
    ],
    ["the kubelet there is not Ready", (w: VolumeWorld) => w.setReady(w.nodesFor("data")[1], "False"), false],
    [
      "another VolumeAttachment needs the volume there",
      (w: VolumeWorld): void => void w.attach("data", w.nodesFor("data")[1]),
      false,
    ],
  ] as const)(
    "decides whether to free a volume that a former leader left on another machine when %s",
    async (_, change, isFreed) => {
      const w = new VolumeWorld({ nodes: 6 });
      world = w;
      await w.start();
      w.claim("data");
      await w.until(() => w.isBound("data"), "bound");
      const [node, other] = w.nodesFor("data");
      w.setReady(other, "True");
      w.cloud.volumes.change("v1", { machine: w.machineOf(other) });
      change(w);
      const name = w.attach("data", node);
      await w.pass(20);
      expect(w.cloud.volumes.get("v1").machine).toBe(w.machineOf(other));
      await w.pass(600);
      expect(w.isAttached(name)).toBe(isFreed);
      expect(w.cloud.volumes.get("v1").machine).toBe(w.machineOf(isFreed ? node : other));
      if (!isFreed)
        expect(w.attachment(name)?.status?.attachError?.message).toContain("so it is not attached to");
    },
  );

  test("attaches a volume to the new machine of its Node when the former machine is proved to be gone", async () => {
    const { w, node, name, machine } = await attached();
    w.cloud.machines.remove(machine);
    const { zone } = w.cloud.volumes.get("v1");
    const { id } = w.cloud.machines.add("node-again", { zone });
    w.changeNode(node, ({ metadata, ...now }) => ({
      ...now,
      metadata: { ...metadata, uid: "again" },
      spec: { providerID: `fake://${id}` },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    }));
    await w.until(() => w.cloud.volumes.get("v1").machine === id, "moved", 300);
    await w.until(() => w.isAttached(name), "attached", 60);
    expect(w.attachment(name)?.metadata.annotations?.["csi.alpha.kubernetes.io/node-id"]).toBe(id);
  });

  test("keeps a volume on the former machine of its Node while that machine runs", async () => {
    const { w, node, name, machine } = await attached();
    const { id } = w.cloud.machines.add("node-again");
    w.changeNode(node, (now) => ({ ...now, spec: { providerID: `fake://${id}` }, status: {} }));
    await w.pass(600);
    expect(w.cloud.volumes.get("v1").machine).toBe(machine);
    expect(messageOn(w, name)).toStartWith(
      `The Node ${node} has a different machine now, and machine ${machine}`,
    );
  });

  test("adds the attacher's finalizer before the request to the cloud, and the PersistentVolume keeps its finalizer while attached", async () => {
    const { w, node } = await attached();
    w.claim("more");
    await w.until(() => w.isBound("more"), "bound");
    const finalizer = "external-attacher/csi-fake-example";
    w.kubeFault = (method, path) =>
      method === "PATCH" && path.includes("/persistentvolumes/")
        ? new Response("{}", { status: 503 })
        : undefined;
    w.forget();
    const name = w.attach("more", node);
    await w.pass(20);
    expect([w.changes, w.attachment(name)?.metadata.finalizers ?? []]).toEqual([[], []]);
    w.kubeFault = (method, path) =>
      method === "PATCH" && /\/volumeattachments\/[^/]+$/.test(path)
        ? new Response("{}", { status: 503 })
        : undefined;
    await w.pass(60);
    expect([w.changes, w.volumeOf("more").metadata.finalizers]).toEqual([
      [],
      expect.arrayContaining([finalizer]),
    ]);
    w.kubeFault = undefined;
    await w.until(() => w.isAttached(name), "attached", 120);
    expect(w.attachment(name)?.metadata.finalizers).toEqual([finalizer]);
    w.server.objects.delete(resourceNamed("persistentvolumes"), "", w.volumeOf("more").metadata.name);
    await w.pass(30);
    expect(w.volumeOf("more").metadata.finalizers).toContain(finalizer);
  });

  test("an attachment waits for the Node to have a machine", async () => {
    const { w } = await attached();
    w.claim("more");
    await w.until(() => w.isBound("more"), "bound");
    const name = w.attach("more", "node-9");
    await w.until(() => w.attachment(name)?.status?.attachError !== undefined, "the message");
    expect(w.attachment(name)?.status?.attachError?.message).toContain(
      "cannot be attached to the Node node-9: it does not exist.",
    );
    expect(w.attachment(name)?.metadata.finalizers).toBeUndefined();
  });
});
