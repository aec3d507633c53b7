// Volumes as the CSI driver of Cinder creates them.

import { expect, test } from "bun:test";
import { failureOf } from "#ccm/testing";
import { openstack } from "../../../providers/openstack/index.ts";
import { addServer, removeServer } from "../../../providers/openstack/simulator/index.ts";
import type { Volume } from "../../../providers/openstack/simulator/state/records.ts";
import { volumeDriver } from "../../../providers/openstack/volumes.ts";
import { providerID } from "../../../src/core/brand.ts";
import type { DesiredVolume } from "../../../src/provider/volumes.ts";
import { type LabOptions, labWith } from "./openstack-lab.ts";

const gibibyte = 2 ** 30;
const zone = "topology.cinder.csi.openstack.org/zone";
const missing = "00000000-0000-4000-8000-000000000000";

function setUp(settings: LabOptions["settings"] = {}) {
  const { lab, cloud } = labWith({ settings });
  const { volumes } = lab.cloud;
  if (volumes === undefined) throw new Error("OpenStack has volumes.");
  const { project } = cloud;
  const create = async (desired: Partial<DesiredVolume> = {}) => {
    const all = { name: "pvc-1", size: 10 * gibibyte, topology: { [zone]: "az-2" }, ...desired };
    const { id } = await lab.run((call) =>
      volumes.create({ parameters: {}, claim: undefined, ...all }, call),
    );
    return id;
  };
  const get = (id: string) => lab.run(async (call) => volumes.get(id, call));
  const existing = async (id: string) => {
    const found = await get(id);
    if (found === undefined) throw new Error(`No volume ${id}.`);
    return found;
  };
  const attach = async (id: string, machine: string) => {
    const volume = await existing(id);
    return lab.run((call) => volumes.attach(volume, machine, call));
  };
  /** Adds a volume that the Go driver or a user has created. */
  const add = (changes: Partial<Volume> = {}) =>
    project.volumes.put({
      id: project.ids.uuid(),
      name: "made",
      size: 10,
      status: "available",
      description: "",
      volume_type: "ssd",
      availability_zone: "nova",
      metadata: {},
      attachments: [],
      multiattach: false,
      data: "",
      ...changes,
    });
  return { lab, cloud, project, volumes, create, get, existing, attach, add };
}

test("creates a volume as cinder.csi.openstack.org does, in the zone of the claim", async () => {
  const { create, project } = setUp();
  const id = await create({
    claim: { namespace: "shop", name: "data", volume: "pvc-1" },
    parameters: { type: "ssd" },
  });
  expect(project.volumes.existing(id)).toMatchObject({
    name: "pvc-1",
    size: 10,
    availability_zone: "az-2",
    volume_type: "ssd",
    description: "Created by OpenStack Cinder CSI driver",
    metadata: {
      "cinder.csi.openstack.org/cluster": "conformance",
      "csi.storage.k8s.io/pvc/name": "data",
      "csi.storage.k8s.io/pvc/namespace": "shop",
      "csi.storage.k8s.io/pv/name": "pvc-1",
    },
  });
});

const places: readonly (readonly [string, string, LabOptions["settings"], object, string])[] = [
  ["in the zone of the parameter", "az-3", {}, { availability: "az-3" }, "az-3"],
  ["in the default zone with ignore-volume-az", "everywhere", { "ignore-volume-az": "true" }, {}, "nova"],
];
test.each(places)("creates a volume %s, to be used in %s", async (_, where, settings, parameters, actual) => {
  const { create, project, existing } = setUp(settings);
  const id = await create({ parameters });
  expect(project.volumes.existing(id).availability_zone).toBe(actual);
  expect((await existing(id)).topology).toEqual(where === "everywhere" ? {} : { [zone]: where });
});

test("reports an exhausted quota as a quota, and not as a rate limit", async () => {
  const { create, project } = setUp();
  project.volumeLimit = 0;
  expect(await failureOf(create())).toMatchObject({
    kind: "quota",
    message: expect.stringContaining("Maximum number of volumes allowed (0) exceeded for quota 'volumes'"),
  });
});

const states: readonly (readonly [string, string])[] = [
  ["available", "ready"],
  ["in-use", "ready"],
  ["reserved", "changing"],
  ["downloading", "changing"],
  ["a status of a later Cinder", "changing"],
  ["error_extending", "ready"],
  ["error", "failed"],
];
test.each(states)("shows a volume with the status %s as %s", async (status, state) => {
  const { add, existing } = setUp();
  expect((await existing(add({ status }).id)).state).toBe(state as "ready");
});

test("shows a volume that Cinder could not create as failed", async () => {
  const { create, project, existing, lab } = setUp();
  project.volumeFailures = 1;
  const id = await create();
  expect((await existing(id)).state).toBe("changing");
  await lab.clock.advance(project.times.volume);
  expect((await existing(id)).state).toBe("failed");
});

test("attaches a volume with multiattach to a server, which older versions of Nova reject", async () => {
  const { attach, add, project, lab, existing } = setUp();
  const { id: server } = addServer(project, "node-1");
  const { id } = add({ multiattach: true });
  expect((await attach(id, server)).done).toBe(false);
  await lab.clock.advance(project.times.volume);
  const attached = await existing(id);
  expect([attached.attachedTo, volumeDriver.publishContextOf(attached)]).toEqual([
    [server],
    { DevicePath: "/dev/vdb" },
  ]);
});

test("reports a missing server, and distinguishes it from a missing volume", async () => {
  const { attach, add, project, lab, volumes, existing } = setUp();
  const { id: server } = addServer(project, "node-1");
  const { id } = add();
  for (const machine of [missing, "../servers"])
    expect(await failureOf(attach(id, machine))).toMatchObject({
      kind: "not-found",
      message: `Server ${machine} does not exist in the project and region of [Global], where volumes are.`,
    });
  const gone = await existing(id);
  project.volumes.remove(id);
  expect(await failureOf(lab.run((call) => volumes.attach(gone, server, call)))).toMatchObject({
    kind: "not-found",
    message: expect.stringContaining(`${id} not found`),
  });
});

test("detaches a volume of a deleted server without an error", async () => {
  const { add, project, attach, lab, volumes, existing } = setUp();
  const { id: server } = addServer(project, "node-1");
  const { id } = add();
  await attach(id, server);
  await lab.clock.advance(project.times.volume);
  const attached = await existing(id);
  removeServer(project, "node-1");
  await lab.run((call) => volumes.detach(attached, server, call));
  expect((await existing(id)).attachedTo).toEqual([]);
});

function snapshotsOf({ volumes }: ReturnType<typeof setUp>) {
  const { snapshots } = volumes;
  if (snapshots === undefined) throw new Error("OpenStack has snapshots.");
  return snapshots;
}

test("creates a snapshot of a volume in use as cinder.csi.openstack.org does", async () => {
  const world = setUp();
  const { add, existing, lab, project } = world;
  const snapshots = snapshotsOf(world);
  const volume = await existing(add({ status: "in-use", availability_zone: "az-2" }).id);
  const { id } = await lab.run((call) => snapshots.create({ name: "snapshot-1", volume }, call));
  const get = () => lab.run((call) => snapshots.get(id, call));
  expect(await get()).toMatchObject({ state: "creating", volumeID: volume.id, size: 10 * gibibyte });
  await lab.clock.advance(project.times.volume);
  const found = await get();
  expect(found).toMatchObject({ state: "ready", topology: { [zone]: "az-2" } });
  expect(found?.createdAt.getTime()).toBe(lab.clock.now() - project.times.volume);
  expect(project.snapshots.existing(id)).toMatchObject({
    name: "snapshot-1",
    description: "Created by OpenStack Cinder CSI driver",
    metadata: { "cinder.csi.openstack.org/cluster": "conformance" },
  });
  project.volumes.change(volume.id, { status: "available" });
  const removed = lab.run(async (call) => world.volumes.remove(volume, call));
  expect(await failureOf(removed)).toMatchObject({
    kind: "invalid",
    message: expect.stringContaining("must not have snapshots"),
  });
});

const snapshotStates: readonly (readonly [string, string])[] = [
  ["available", "ready"],
  ["backing-up", "ready"],
  ["creating", "creating"],
  ["deleting", "creating"],
  ["error", "failed"],
  ["error_deleting", "failed"],
];
test.each(snapshotStates)("shows a snapshot with the status %s as %s", async (status, state) => {
  const world = setUp();
  const { add, project, lab } = world;
  const { id } = project.snapshots.put({
    id: project.ids.uuid(),
    name: "made",
    volume_id: add().id,
    size: 10,
    status,
    description: "",
    metadata: {},
    created_at: "2026-11-27T04:00:00.000000",
    data: "",
  });
  const found = await lab.run((call) => snapshotsOf(world).get(id, call));
  expect([found?.state, found?.createdAt.toISOString()]).toEqual([
    state as "ready",
    "2026-11-27T04:00:00.000Z",
  ]);
});

test("the driver has the names and ids of cinder.csi.openstack.org", () => {
  const id = "8f5b21d4-7d1c-4f5e-9d3a-0a1b2c3d4e5f";
  const { nodeIDOf, providerIDOf, topologyOf, limitOf, contextOf, devicePathsOf, parameters } = volumeDriver;
  expect(openstack.volumeDriver?.name).toBe("cinder.csi.openstack.org");
  expect(Object.keys(parameters)).toEqual(["type", "availability"]);
  for (const node of [`openstack:///${id}`, `openstack://RegionOne/${id}`])
    expect(nodeIDOf(providerID(node))).toBe(id);
  expect([nodeIDOf(providerID("aws:///x/y")), providerIDOf(id)]).toEqual([undefined, `openstack:///${id}`]);
  const machine = { type: "m1.small", zone: "az-1" };
  expect([
    topologyOf(machine),
    topologyOf({ type: "m1.small" }),
    limitOf(machine),
    contextOf({ type: undefined, availability: undefined }),
  ]).toEqual([{ [zone]: "az-1" }, undefined, 256, {}]);
  expect(devicePathsOf({ DevicePath: "/dev/vdb" }, id)).toEqual([
    "/dev/disk/by-id/virtio-8f5b21d4-7d1c-4f5e-9",
    `/dev/disk/by-id/virtio-${id}`,
    "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_8f5b21d4-7d1c-4f5e-9",
    `/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_${id}`,
    "/dev/disk/by-id/wwn-0x8f5b21d47d1c4f5e9d3a0a1b2c3d4e5f",
  ]);
  expect(devicePathsOf({ DevicePath: "/dev/vdb" }, "../../sda")).toEqual([]);
});
