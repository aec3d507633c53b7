// Volumes as the CSI driver of Hetzner creates them.

import { expect, test } from "bun:test";
import { failureOf, Lab, readSettings } from "#ccm/testing";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { harness } from "../../../providers/hetzner/simulator/harness.ts";
import type { HetznerCloud } from "../../../providers/hetzner/simulator/index.ts";
import { volumeDriver } from "../../../providers/hetzner/volumes.ts";
import { providerID } from "../../../src/core/brand.ts";
import type { DesiredVolume } from "../../../src/provider/volumes.ts";

const gibibyte = 2 ** 30;
const fsn1 = { "csi.hetzner.cloud/location": "fsn1" };

function setUp(config: Readonly<Record<string, string>> = {}) {
  const lab = new Lab({ ...harness, config: { ...harness.config, ...config } });
  const { project } = (lab.simulated as unknown as { readonly cloud: HetznerCloud }).cloud;
  const { volumes } = lab.cloud;
  if (volumes === undefined) throw new Error("Hetzner has volumes.");
  const create = (desired: Partial<DesiredVolume> = {}) =>
    lab.run((call) =>
      volumes.create(
        { name: "pvc-1", size: 10 * gibibyte, topology: fsn1, parameters: {}, claim: undefined, ...desired },
        call,
      ),
    );
  const labels = async (desired: Partial<DesiredVolume>) => {
    const { id } = await create(desired);
    return project.volumes.existing(id).labels;
  };
  return { lab, project, volumes, create, labels };
}

const parse = (raw: Readonly<Record<string, string>>) =>
  readSettings(volumeDriver.parameters, raw, { what: "parameter" });

test("labels volumes as the Go driver does", async () => {
  const { labels } = setUp({ "volumes-extra-labels": "cluster=prod,pv-name=x" });
  const { values } = parse({ labels: "team=shop, empty ,pvc-name=mine" });
  const claim = { namespace: "shop", name: `data-${"x".repeat(70)}`, volume: "pvc-7" };
  expect(await labels({ parameters: values, claim })).toEqual({
    "managed-by": "csi-driver",
    cluster: "prod",
    "pv-name": "pvc-7",
    "pvc-namespace": "shop",
    "pvc-name": "mine",
    team: "shop",
    empty: "",
  });
  const second = setUp();
  const owner = await second.labels({ claim: { ...claim, name: `a-${"-".repeat(20)}${"b".repeat(60)}` } });
  expect(owner["pvc-name"]).toBe("b".repeat(60));
});

test("rejects labels that the cloud would reject", () => {
  const { problems } = parse({ labels: "team=shop,a b=c" });
  expect(problems.map(({ text }) => text)).toEqual([
    'labels must be a comma-separated list of labels such as key=value,other=value, got "a b=c"',
  ]);
});

test("creates a volume for a claim without topology in the default location, or rejects it", async () => {
  const { create } = setUp();
  expect(await failureOf(create({ topology: undefined }))).toMatchObject({
    kind: "invalid",
    message:
      "No location is known for volume pvc-1. Use volumeBindingMode: WaitForFirstConsumer in the StorageClass, or set HCLOUD_VOLUME_DEFAULT_LOCATION.",
  });
  const hel1 = setUp({ "volumes-default-location": "hel1" });
  const { id } = await hel1.create({ topology: undefined });
  expect(hel1.project.volumes.existing(id).location).toBe("hel1");
});

test("reports a taken name as a conflict, which sidecars retry", async () => {
  const { create, project } = setUp();
  project.volumes.add("pvc-1");
  expect(await failureOf(create())).toMatchObject({ kind: "conflict" });
});

test("the driver has the names and ids of csi.hetzner.cloud", async () => {
  const { volumes, lab, project } = setUp();
  const server = project.servers.add("node-1");
  const { id } = project.volumes.add("pvc-1", { server: server.id, isProtected: true });
  const volume = await lab.run((call) => volumes.get(String(id), call));
  expect(volume).toEqual({
    id: String(id),
    name: "pvc-1",
    size: 10 * gibibyte,
    topology: fsn1,
    state: "ready",
    attachedTo: [String(server.id)],
    device: `/dev/disk/by-id/scsi-0HC_Volume_${id}`,
    isProtected: true,
  });
  const { nodeIDOf, topologyOf, limitOf, contextOf, publishContextOf } = volumeDriver;
  const machine = { type: "cx23", region: "fsn1" };
  expect([
    nodeIDOf(providerID("hcloud://7")),
    nodeIDOf(providerID("hrobot://7")),
    topologyOf(machine),
    limitOf(machine),
    contextOf(parse({ fsFormatOptions: "-i size=512" }).values),
    contextOf(parse({}).values),
    volume && publishContextOf(volume),
  ]).toEqual([
    ...["7", undefined, fsn1, 16, { fsFormatOptions: "-i size=512" }, { fsFormatOptions: "" }],
    { devicePath: `/dev/disk/by-id/scsi-0HC_Volume_${id}` },
  ]);
  expect(hetzner.volumeDriver?.name).toBe("csi.hetzner.cloud");
});

test("reports that a location has no space left", async () => {
  const { create, lab, project } = setUp();
  const error = { code: "no_space_left_in_location", message: "no space" };
  project.actions.plan({ outcome: "fails", command: "create_volume", error });
  const created = await create();
  if (created.done || created.operation === undefined) throw new Error("Expected an operation.");
  const { operation, checkAfter } = created;
  await lab.clock.advance(checkAfter);
  const states = await lab.run(async (call) => lab.cloud.pending?.check([operation], call));
  expect(states?.get(operation)).toMatchObject({ kind: "quota" });
  expect(await lab.run((call) => setUpVolume(lab, created.id, call))).toBeUndefined();
});

const setUpVolume = (lab: Lab, id: string, call: Parameters<Parameters<Lab["run"]>[0]>[0]) =>
  lab.cloud.volumes?.get(id, call) ?? Promise.resolve(undefined);
