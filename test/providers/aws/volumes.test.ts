// Volumes as the CSI driver ebs.csi.aws.com creates them.

import { describe, expect, test } from "bun:test";
import { failureOf } from "#ccm/testing";
import type { Volume } from "../../../providers/aws/simulator/state/resources.ts";
import { type VolumeParameters, volumeDriver } from "../../../providers/aws/volumes/volume-driver.ts";
import { volumeLimit } from "../../../providers/aws/volumes/volume-limits.ts";
import { namesFor } from "../../../providers/aws/volumes/volumes.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { DesiredVolume, ObservedVolume, VolumeDriver } from "../../../src/provider/volumes.ts";
import { readParameters, readTopologies, withFormerKeys } from "../../../src/volumes/csi/volume-requests.ts";
import { labWith } from "./aws-lab.ts";

const gibibyte = 2 ** 30;
const zoneA = { "topology.kubernetes.io/zone": "us-west-2a" };
const driver = volumeDriver as VolumeDriver<VolumeParameters>;
const claim = { namespace: "shop", name: "data", volume: "pvc-1" };

function setUp(settings: Readonly<Record<string, string | undefined>> = {}) {
  const { lab, cloud } = labWith({ settings });
  const { volumes } = lab.cloud;
  if (volumes === undefined) throw new Error("AWS has volumes.");
  const create = (
    parameters: Readonly<Record<string, string>> = {},
    desired: Partial<DesiredVolume<VolumeParameters>> = {},
  ) =>
    lab.run((call) => {
      const { values } = readParameters(parameters, driver);
      const usual = { name: "pvc-1", size: 10 * gibibyte, topology: zoneA, claim };
      return volumes.create({ ...usual, parameters: values, ...desired }, call);
    });
  const get = (id: string) => lab.run(async (call) => volumes.get(id, call));
  const pass = () => lab.clock.advance(seconds(5)).then(() => cloud.settle());
  const made = async (parameters: Readonly<Record<string, string>> = {}): Promise<ObservedVolume> => {
    const { id } = await create(parameters);
    await pass();
    return (await get(id)) as ObservedVolume;
  };
  const attach = (volume: ObservedVolume, machine: string) =>
    lab.run((call) => volumes.attach(volume, machine, call));
  const expand = (volume: ObservedVolume, size: number) =>
    lab.run((call) => volumes.expand(volume, size * gibibyte, call));
  return { lab, cloud, account: cloud.account, volumes, create, get, made, attach, expand, pass };
}

const only = ({ account }: ReturnType<typeof setUp>): Volume => account.volumes.list()[0] as Volume;

describe("a new volume", () => {
  test("creates a volume with the Go driver's type, zone, token and tags", async () => {
    const world = setUp();
    await world.create();
    expect(only(world)).toMatchObject({
      size: 10,
      zone: "us-west-2a",
      type: "gp3",
      iops: undefined,
      encrypted: false,
      tags: {
        CSIVolumeName: "pvc-1",
        "ebs.csi.aws.com/cluster": "true",
        "ebs.csi.aws.com/cluster-name": "prod",
        "kubernetes.io/cluster/prod": "owned",
        KubernetesCluster: "prod",
        Name: "prod-dynamic-pvc-1",
        "kubernetes.io/created-for/pvc/name": "data",
        "kubernetes.io/created-for/pvc/namespace": "shop",
        "kubernetes.io/created-for/pv/name": "pvc-1",
      },
    });
    // The result of: echo -n pvc-1 | sha256sum
    expect([...world.account.tokens.keys()]).toEqual([
      "f2868e1aa7cab669517cd9f5ab1b7957c0b92df38fef583267e34e1acc8253fe",
    ]);
  });

  test("creates a volume with the tags of its StorageClass and of the settings", async () => {
    const world = setUp({ "volumes-extra-tags": "team=a,env=prod" });
    await world.create({
      tagSpecification_1: "env=test",
      tagSpecification_2: "for={{ .PVCNamespace }}/{{.PVCName}} as {{ .PVName }}",
      tagSpecification_3: "empty=",
    });
    const { tags } = only(world);
    expect([tags["team"], tags["env"], tags["for"], tags["empty"]]).toEqual([
      ...["a", "test", "shop/data as pvc-1", ""],
    ]);
  });

  test.each([
    [{ type: "gp3", iops: "4000", throughput: "250" }, "4000"],
    [{ TYPE: "io1", IopsPerGB: "50" }, "500"],
    [{ type: "io1", iopsPerGB: "80" }, "500"],
    [{ type: "io1", iopsPerGB: "5" }, "50"],
    [{ type: "io1", iopsPerGB: "5", allowAutoIOPSPerGBIncrease: "true" }, "100"],
    [{ type: "gp3", iopsPerGB: "300" }, "3000"],
    [{ type: "gp2", iops: "9" }, "9"],
  ])("creates a 10 GiB volume with the parameters %p and %s IOPS", async (parameters, iops) => {
    const world = setUp();
    await world.create(parameters as unknown as Record<string, string>);
    expect(only(world).iops).toBe(iops);
  });

  test("encrypts a volume if its StorageClass names a key", async () => {
    const world = setUp();
    await world.create({ kmsKeyId: "arn:aws:kms:us-west-2:123456789012:key/1" });
    expect(only(world).encrypted).toBe(true);
  });

  test("creates a volume without topology in Zone, or in the first zone", async () => {
    const [set, unset] = [setUp({ zone: "us-west-2b" }), setUp()];
    for (const world of [set, unset]) await world.create({}, { topology: undefined });
    expect([only(set).zone, only(unset).zone]).toEqual(["us-west-2b", "us-west-2a"]);
  });

  test("gives a volume another token after EC2 has failed to create it", async () => {
    const world = setUp();
    const { id } = await world.create();
    world.account.volumes.remove(id);
    expect(await failureOf(world.create())).toMatchObject({
      kind: "conflict",
      detail: { code: "IdempotentParameterMismatch" },
    });
    await world.create();
    expect([world.account.volumes.list().length, world.account.tokens.size]).toEqual([1, 2]);
  });

  test("reports a deleted volume as missing, although EC2 still shows it", async () => {
    const world = setUp();
    const { id } = await world.made();
    world.account.volumes.change(id, { state: "deleted" });
    expect(await world.get(id)).toBeUndefined();
    expect(await world.lab.list((call) => world.volumes.list(call))).toEqual([]);
  });

  test("rejects a volume with iops and iopsPerGB, and a volume beyond the account's quota", async () => {
    const world = setUp();
    expect(await failureOf(world.create({ iops: "100", iopsPerGB: "10" }))).toMatchObject({
      kind: "invalid",
      message: "The StorageClass has iops and iopsPerGB. Create one with either of them.",
    });
    expect(await failureOf(world.create({}, { size: 60_000 * gibibyte }))).toMatchObject({ kind: "quota" });
  });
});

describe("a StorageClass", () => {
  const refusal = (parameters: Readonly<Record<string, string>>): string => {
    try {
      readParameters(parameters, driver);
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };

  test.each([
    [{ encrytped: "true" }, 'encrytped is not a known parameter; did you mean "encrypted"?'],
    [{ encrypted: "yes" }, 'encrypted must be true or false, got "yes"'],
    [{ type: "gp4" }, "type must be"],
    [{ blockSize: "4k -n" }, 'blockSize must be letters and digits, got "4k -n"'],
    [{ tagSpecification_1: "kubernetes.io/cluster/other=owned" }, "tagSpecification must be"],
    [{ tagSpecification_1: "CSIVolumeName=pvc-2" }, "tagSpecification must be"],
    [{ tagSpecification_1: "a={{ .PVCName | toUpper }}" }, "tagSpecification must be"],
    [{ tagSpecification_1: "no value" }, "tagSpecification must be"],
  ])("rejects a StorageClass with %p", (parameters, text) => {
    expect(refusal(parameters as unknown as Record<string, string>)).toContain(text);
  });

  test("accepts parameters of the Go driver that have no effect in a StorageClass", () => {
    expect(refusal({ blockExpress: "true", fstype: "xfs", volumeInitializationRate: "100" })).toBe("");
  });

  test("passes options of the file system in a StorageClass on to the Node", () => {
    const { values } = readParameters({ blocksize: "4096", inodeSize: "512", ext4BigAlloc: "true" }, driver);
    const context = driver.contextOf(values);
    expect(context).toEqual({ blocksize: "4096", inodesize: "512", ext4bigalloc: "true" });
    expect([driver.formatOptionsOf(context, "ext4"), driver.formatOptionsOf(context, "xfs")]).toEqual([
      "-b 4096 -I 512 -O bigalloc",
      "-b size=4096 -i size=512 -O bigalloc",
    ]);
    expect(driver.formatOptionsOf({}, "ext4")).toBe("");
  });
});

describe("an attachment", () => {
  test("attaches a volume with the device that the Nodes of the Go driver look for", async () => {
    const world = setUp();
    const instance = world.account.add("node-1").id;
    const { id } = await world.made();
    await world.attach((await world.get(id)) as ObservedVolume, instance);
    expect(await world.get(id)).toMatchObject({ attachedTo: [instance], state: "changing" });
    await world.pass();
    const attached = (await world.get(id)) as ObservedVolume;
    expect(attached).toMatchObject({ attachedTo: [instance], state: "ready", topology: zoneA });
    const published = driver.publishContextOf(attached);
    expect(published).toEqual({ devicePath: only(world).attachments[0]?.device ?? "" });
    expect(published["devicePath"]).toMatch(/^\/dev\/xvd[ab][a-z]$/);
    expect([driver.devicePathsOf(published, "vol-0a1")[0], driver.deviceNameOf?.(published)]).toEqual([
      "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1",
      published["devicePath"],
    ]);
  });

  test("uses the next device name if EC2 hides that a name is in use, and gives up after five attempts", async () => {
    const world = setUp();
    const instance = world.account.add("node-1").id;
    const volume = await world.made();
    const refused = async (count: number) => {
      const tried = world.cloud.seen.filter(({ operation }) => operation === "ec2:AttachVolume").length;
      const error = await failureOf(world.attach(volume, instance));
      const now = world.cloud.seen.filter(({ operation }) => operation === "ec2:AttachVolume").length;
      expect(now - tried).toBe(count);
      return error;
    };
    const letters = [..."abcdefghijklmnopqrstuvwxyz"];
    for (const first of "ab")
      for (const second of letters) world.account.hiddenDevices.add(`/dev/xvd${first}${second}`);
    expect(await refused(5)).toMatchObject({ detail: { code: "InvalidParameterValue" } });
    for (const name of [...world.account.hiddenDevices].slice(0, 51))
      world.account.hiddenDevices.delete(name);
    await world.attach(volume, instance);
    expect(only(world).attachments).toHaveLength(1);
  });

  test("chooses one of 126 device names, beginning with the names that work everywhere", () => {
    const all: string[] = [];
    for (;;) {
      const [name] = namesFor("vol-0000000000000000a", new Set(all));
      if (name === undefined) break;
      all.push(name);
    }
    expect([all.length, new Set(all).size]).toEqual([126, 126]);
    expect(all.slice(0, 52).every((name) => /^\/dev\/xvd[ab][a-z]$/.test(name))).toBe(true);
    expect([all[52], all[75], all[76], all[125]]).toEqual([
      "/dev/xvdda",
      "/dev/xvddx",
      "/dev/xvdb",
      "/dev/sdz",
    ]);
  });

  test("gives two volumes that are attached simultaneously to one instance different device names", async () => {
    const world = setUp();
    const instance = world.account.add("node-1").id;
    const { id } = await world.create({}, { name: "pvc-2" });
    const volume = await world.made();
    const other = (await world.get(id)) as ObservedVolume;
    await Promise.all([world.attach(volume, instance), world.attach(other, instance)]);
    const names = world.account.volumes.list().map(({ attachments }) => attachments[0]?.device);
    expect(new Set(names).size).toBe(2);
  });

  test("rejects an attachment to an instance in another zone or to a terminated instance", async () => {
    const world = setUp();
    const { account } = world;
    const far = account.add("far", { subnet: String(account.subnets.list()[1]?.id) }).id;
    const gone = account.add("gone").id;
    account.terminate(gone);
    const volume = await world.made();
    expect(await failureOf(world.attach(volume, far))).toMatchObject({ kind: "invalid" });
    expect(await failureOf(world.attach(volume, gone))).toMatchObject({
      kind: "not-found",
      message: `Instance ${gone} does not exist.`,
    });
  });

  test("ignores an attachment that was removed in the meantime", async () => {
    const world = setUp();
    const instance = world.account.add("node-1").id;
    const volume = await world.made();
    const detach = world.lab.run((call) => world.volumes.detach(volume, instance, call));
    expect(await failureOf(detach)).toMatchObject({ kind: "busy" });
  });
});

describe("an expansion", () => {
  test("ends an expansion when the new size is usable, and delays the next expansion until EC2 has optimized the volume", async () => {
    const world = setUp();
    const volume = await world.made();
    await world.expand(volume, 20);
    expect(await world.get(volume.id)).toMatchObject({ state: "changing", size: 10 * gibibyte });
    await world.pass();
    expect(await world.get(volume.id)).toMatchObject({ state: "ready", size: 20 * gibibyte });
    expect(await failureOf(world.expand(volume, 40))).toMatchObject({ kind: "busy" });
  });

  test.each([
    [{ type: "io2", iopsPerGB: "20", allowAutoIOPSIncreaseOnModify: "true" }, "400"],
    [{ type: "io2", iopsPerGB: "20" }, "200"],
    [{ type: "gp3" }, undefined],
  ])("an expansion of a volume with %p to 20 GiB gives the volume %s IOPS", async (parameters, iops) => {
    const world = setUp();
    await world.expand(await world.made(parameters as unknown as Record<string, string>), 20);
    await world.pass();
    expect(only(world)).toMatchObject({ size: 20, iops });
  });
});

describe("a snapshot", () => {
  test("creates a snapshot with the Go driver's tags, whose data is final immediately", async () => {
    const world = setUp({ "volumes-extra-tags": "team=a" });
    const volume = await world.made();
    const { snapshots } = world.volumes;
    const outcome = await world.lab.run(async (call) =>
      snapshots?.create({ name: "snapshot-1", volume }, call),
    );
    expect(outcome?.done).toBe(true);
    const [made] = world.account.snapshots.list();
    expect(made?.tags).toEqual({
      CSIVolumeSnapshotName: "snapshot-1",
      "ebs.csi.aws.com/cluster": "true",
      "ebs.csi.aws.com/cluster-name": "prod",
      "kubernetes.io/cluster/prod": "owned",
      Name: "prod-dynamic-snapshot-1",
      team: "a",
    });
    const get = () => world.lab.run(async (call) => snapshots?.get(outcome?.id ?? "", call));
    expect(await get()).toMatchObject({ state: "uploading", volumeID: volume.id, size: 10 * gibibyte });
    await world.pass();
    expect(await get()).toMatchObject({ state: "ready" });
  });

  test("creates a volume from a snapshot, with its initialization rate", async () => {
    const world = setUp();
    const volume = await world.made();
    const source = { kind: "snapshot", id: "" } as const;
    const id = await world.lab.run(
      async (call) => (await world.volumes.snapshots?.create({ name: "snapshot-1", volume }, call))?.id,
    );
    const restore = () =>
      world.create(
        { volumeInitializationRate: "200" },
        { name: "pvc-2", source: { ...source, id: id ?? "" } },
      );
    expect(await failureOf(restore())).toMatchObject({ kind: "busy" });
    await world.pass();
    await restore();
    const [, restored] = [...world.account.tokens.values()];
    expect(JSON.parse(restored?.written ?? "")).toMatchObject({
      SnapshotId: id,
      VolumeInitializationRate: "200",
    });
  });

  test("shows no volume for a snapshot that is a copy", async () => {
    const world = setUp();
    const id = world.account.id("snap");
    const state = { startedAt: "2026-01-02T03:04:05.000Z", state: "completed", data: "" } as const;
    world.account.snapshots.put({ ...state, id, name: "", tags: {}, volume: "vol-ffffffff", size: 1 });
    expect(await world.lab.run(async (call) => world.volumes.snapshots?.get(id, call))).toEqual({
      id,
      name: id,
      volumeID: "",
      size: gibibyte,
      state: "ready",
      createdAt: new Date("2026-01-02T03:04:05.000Z"),
    });
  });
});

test("finds a snapshot of another driver by its id", async () => {
  const world = setUp();
  const { account } = world;
  const instance = account.add("node-1").id;
  const id = account.id("vol");
  const usual = {
    type: "gp2",
    iops: undefined,
    throughput: undefined,
    encrypted: false,
    modification: undefined,
  };
  account.volumes.put({
    ...usual,
    id,
    data: "",
    name: "",
    size: 8,
    zone: "us-west-2c",
    state: "in-use",
    tags: { Name: "kubernetes-dynamic-pvc-1" },
    attachments: [{ instance, device: "/dev/xvdba", state: "attached" }],
  });
  expect(await world.get(id)).toMatchObject({
    id,
    name: id,
    size: 8 * gibibyte,
    attachedTo: [instance],
    device: "/dev/xvdba",
    state: "ready",
    topology: { "topology.kubernetes.io/zone": "us-west-2c" },
  });
});

test("places volumes in a zone, which Nodes and StorageClasses may name by the former key", () => {
  const { nodeIDOf, topologyOf } = driver;
  const former = "topology.ebs.csi.aws.com/zone";
  expect([
    nodeIDOf("aws:///us-west-2a/i-0a"),
    nodeIDOf("aws:///us-west-2a/fargate-10"),
    topologyOf({ type: "" }),
  ]).toEqual([...["i-0a", undefined, undefined]]);
  expect(nodeIDOf(driver.providerIDOf("i-0a"))).toBe("i-0a");
  expect(topologyOf({ type: "", zone: "us-west-2a" })).toEqual(zoneA);
  expect(withFormerKeys(zoneA, volumeDriver as VolumeDriver)).toEqual({ ...zoneA, [former]: "us-west-2a" });
  const requisite = [
    { segments: { [former]: "us-west-2a" } },
    { segments: { ...zoneA, [former]: "us-west-2a", "kubernetes.io/os": "linux" } },
  ];
  expect(readTopologies({ preferred: [], requisite }, volumeDriver as VolumeDriver)).toEqual([zoneA, zoneA]);
});

/** The places of the Go driver 1.64, including the place for the disk of the instance. */
const places = {
  "t2.micro": 39,
  "i3.large": 39,
  "m5.large": 27,
  "t3.small": 27,
  "m7g.large": 27,
  "p4d.24xlarge": 28,
  "m7i.large": 32,
  "m7i.16xlarge": 48,
  "m7i.24xlarge": 64,
  "r8g.48xlarge": 128,
  "u7i-12tb.224xlarge": 128,
  "c8g.metal-24xl": 39,
  "p5.48xlarge": 64,
  "hpc7a.96xlarge": 27,
  "m5d.large": 26,
  "m5d.24xlarge": 23,
  "i4i.24xlarge": 21,
  "g5.48xlarge": 9,
  "d3.8xlarge": 3,
  "inf1.24xlarge": 11,
  "mac2.metal": 10,
};

test.each(Object.entries(places))(
  "an instance of the type %s has %i places for volumes with its disk",
  (type, count) => {
    expect(volumeLimit(type)).toBe(count - 1);
  },
);
