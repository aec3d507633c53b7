// Volumes as the CSI driver of DigitalOcean creates them.

import { expect, test } from "bun:test";
import { failureOf, Lab } from "#ccm/testing";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { harness } from "../../../providers/digitalocean/simulator/harness.ts";
import type { DigitalOceanCloud, Volume } from "../../../providers/digitalocean/simulator/index.ts";
import { volumeDriver } from "../../../providers/digitalocean/volumes.ts";
import { providerID } from "../../../src/core/brand.ts";
import type { DesiredVolume } from "../../../src/provider/volumes.ts";

const gibibyte = 2 ** 30;
const nyc3 = { region: "nyc3" };

function setUp(config: Readonly<Record<string, string>> = harness.config) {
  const lab = new Lab({ ...harness, config });
  const { cloud } = lab.simulated as unknown as { readonly cloud: DigitalOceanCloud };
  const { volumes } = lab.cloud;
  if (volumes === undefined) throw new Error("DigitalOcean has volumes.");
  const create = (desired: Partial<DesiredVolume> = {}) =>
    lab.run((call) =>
      volumes.create(
        { name: "pvc-1", size: 10 * gibibyte, topology: nyc3, parameters: {}, claim: undefined, ...desired },
        call,
      ),
    );
  const get = (id: string) => lab.run(async (call) => volumes.get(id, call));
  const attach = async (id: string, machine: string) => {
    const volume = await get(id);
    if (volume === undefined) throw new Error(`No volume ${id}.`);
    return lab.run((call) => volumes.attach(volume, machine, call));
  };
  return { lab, cloud, account: cloud.account, create, get, attach };
}

/** Adds a volume that the Go driver or a user has created. */
function addVolume({ account }: ReturnType<typeof setUp>, changes: Partial<Volume> = {}): Volume {
  const { volumes, ids } = account;
  const id = ids.uuid();
  const own = {
    id,
    name: `made-${id.slice(-4)}`,
    region: "nyc3",
    description: "",
    data: "",
    created_at: ids.now,
  };
  return volumes.put({ ...own, size_gigabytes: 10, droplet_ids: [], tags: [], ...changes });
}

test("creates a volume with the tag of the cluster, in the region of the claim", async () => {
  const { create, account } = setUp({ ...harness.config, region: "fra1" });
  const claim = { namespace: "shop", name: "data", volume: "pvc-1" };
  const { id } = await create({ claim });
  expect(account.volumes.existing(id)).toMatchObject({
    name: "pvc-1",
    size_gigabytes: 10,
    region: "nyc3",
    tags: ["k8s:prod"],
    description: "PersistentVolumeClaim shop/data",
  });
});

test("creates the volume of a claim without topology in REGION, or rejects the claim", async () => {
  const { token } = harness.config;
  const without = setUp({ token: token ?? "" });
  expect(await failureOf(without.create({ topology: undefined }))).toMatchObject({
    kind: "invalid",
    message:
      "No region is known for volume pvc-1. Use volumeBindingMode: WaitForFirstConsumer in the StorageClass, or set REGION.",
  });
  const { id } = await without.create();
  expect(without.account.volumes.existing(id).tags).toEqual([]);
  const fra1 = setUp({ ...harness.config, region: "fra1" });
  const made = await fra1.create({ topology: undefined });
  expect(fra1.account.volumes.existing(made.id).region).toBe("fra1");
});

test("reports a taken name as a conflict, and the limit of the account as a quota", async () => {
  const world = setUp();
  addVolume(world, { name: "pvc-1" });
  expect(await failureOf(world.create())).toMatchObject({ kind: "conflict" });
  for (let count = 1; count < 100; count += 1) addVolume(world);
  expect(await failureOf(world.create({ name: "pvc-2" }))).toMatchObject({ kind: "quota" });
});

test("adds a missing cluster tag to a volume only when the volume is attached", async () => {
  const world = setUp();
  const { account, cloud, attach, get, lab } = world;
  const { id } = addVolume(world);
  const droplet = account.droplets.add("node-1");
  cloud.forget();
  const outcome = await attach(id, String(droplet.id));
  expect(outcome.done).toBe(false);
  expect(cloud.seen.filter(({ mutates }) => mutates).map(({ operation }) => operation)).toEqual([
    "POST /v2/tags/{id}/resources",
    "POST /v2/tags",
    "POST /v2/tags/{id}/resources",
    "POST /v2/volumes/{id}/actions",
  ]);
  expect(account.volumes.existing(id).tags).toEqual(["k8s:prod"]);
  await lab.clock.advance(account.times.change);
  expect((await get(id))?.attachedTo).toEqual([String(droplet.id)]);
  const second = addVolume(world, { tags: ["K8S:PROD"] });
  cloud.forget();
  await attach(second.id, String(droplet.id));
  expect(cloud.mutations).toBe(1);
});

test("waits for another action of the droplet, and reports a full droplet and a missing droplet", async () => {
  const world = setUp();
  const { account, attach, lab } = world;
  const droplet = account.droplets.add("node-1");
  const [first, next] = [addVolume(world), addVolume(world)];
  await attach(first.id, String(droplet.id));
  expect(await failureOf(attach(next.id, String(droplet.id)))).toMatchObject({ kind: "busy" });
  await lab.clock.advance(account.times.change);
  for (let count = 1; count < 7; count += 1) addVolume(world, { droplet_ids: [droplet.id] });
  expect(await failureOf(attach(next.id, String(droplet.id)))).toMatchObject({ kind: "quota" });
  expect(await failureOf(attach(next.id, "12"))).toMatchObject({
    kind: "not-found",
    message: "Droplet 12 does not exist.",
  });
});

test("reports an action of a volume that failed", async () => {
  const world = setUp();
  const { account, attach, lab } = world;
  const droplet = account.droplets.add("node-1");
  const outcome = await attach(addVolume(world).id, String(droplet.id));
  if (outcome.done || outcome.operation === undefined) throw new Error("Expected an operation.");
  const { operation } = outcome;
  const [action] = account.actions.list();
  account.actions.change(action?.id ?? 0, { status: "errored" });
  const states = await lab.run(async (call) => lab.cloud.pending?.check([operation], call));
  expect(states?.get(operation)).toMatchObject({
    kind: "unavailable",
    message: `DigitalOcean reports that the action attach_volume (${action?.id}) failed.`,
  });
});

test("the driver has the names and ids of dobs.csi.digitalocean.com", async () => {
  const world = setUp();
  const droplet = world.account.droplets.add("node-1");
  const { id } = addVolume(world, { name: "pvc-1", droplet_ids: [droplet.id, 7] });
  const volume = await world.get(id);
  expect(volume).toMatchObject({
    id,
    name: "pvc-1",
    size: 10 * gibibyte,
    topology: nyc3,
    state: "ready",
    // The other droplet no longer exists.
    attachedTo: [String(droplet.id)],
  });
  const { nodeIDOf, topologyOf, limitOf, contextOf, publishContextOf, devicePathsOf } = volumeDriver;
  const machine = { type: "s-2vcpu-4gb", region: "nyc3" };
  const published = volume === undefined ? {} : publishContextOf(volume);
  expect([nodeIDOf(providerID("digitalocean://7")), topologyOf(machine), limitOf(machine)]).toEqual([
    ...["7", nyc3, 7],
  ]);
  expect([contextOf({}), published, devicePathsOf(published, id), devicePathsOf({}, id)]).toEqual([
    {},
    { "dobs.csi.digitalocean.com/volume-name": "pvc-1" },
    ["/dev/disk/by-id/scsi-0DO_Volume_pvc-1"],
    [],
  ]);
  expect(digitalocean.volumeDriver?.name).toBe("dobs.csi.digitalocean.com");
});

test.each([
  [{}, ""],
  [{ "dobs.csi.digitalocean.com/noformat": "true" }, undefined],
  [{ "com.digitalocean.csi.dobs/noformat": "" }, undefined],
])("never formats a volume whose PersistentVolume has the attribute noformat: %p", (context, options) => {
  expect(volumeDriver.formatOptionsOf(context, "ext4")).toBe(options);
});

test("creates a snapshot with the tag of the cluster, and a volume from it in its region", async () => {
  const { lab, create, get, account } = setUp({ ...harness.config, region: "fra1" });
  const volume = await get((await create({ topology: { region: "nyc3" } })).id);
  const snapshots = lab.cloud.volumes?.snapshots;
  if (volume === undefined || snapshots === undefined) throw new Error("nothing was created");
  const { id } = await lab.run((call) => snapshots.create({ name: "snapshot-1", volume }, call));
  expect(account.snapshots.existing(id)).toMatchObject({
    name: "snapshot-1",
    tags: ["k8s:prod"],
    regions: ["nyc3"],
  });
  const source = { kind: "snapshot", id } as const;
  const restored = await create({ name: "pvc-2", topology: { region: "nyc3" }, source });
  expect(account.volumes.existing(restored.id)).toMatchObject({ region: "nyc3" });
  const elsewhere = create({ name: "pvc-3", topology: { region: "fra1" }, source });
  expect(await failureOf(elsewhere)).toMatchObject({ kind: "invalid" });
});

test("never uses a snapshot of a droplet as the snapshot of a volume", async () => {
  const { lab } = setUp();
  const before = lab.requests.length;
  expect(await lab.run(async (call) => lab.cloud.volumes?.snapshots?.get("119192817", call))).toBeUndefined();
  expect(lab.requests.length).toBe(before);
});
