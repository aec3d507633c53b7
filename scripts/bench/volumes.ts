// Measures a manager that creates and attaches volumes, and then an idle minute: memory, processor time and cloud calls. Then another
// manager finds the same volumes.

import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
} from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { type IdleRun, idleMinute, startIdle } from "./idle.ts";
import { joinNodes } from "./joined-nodes.ts";
import { printProgress } from "./progress.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

export interface VolumesRun extends IdleRun {
  readonly volumes: number;
  /** Of the manager that found the volumes when it started. */
  readonly restarted: IdleRun;
}

const driver = "csi.fake.example";
const perMachine = 8;
/** Three zones, and a machine is only used for volumes of its zone. */
const nodesFor = (volumes: number): number => Math.max(3, 3 * Math.ceil(volumes / perMachine));

const columns: Columns<VolumesRun> = [
  ["Volumes", ({ volumes }) => String(volumes)],
  ["Nodes", ({ nodes }) => String(nodes)],
  ["RSS MiB", ({ memory }) => decimal(memory?.totalMiB, 1)],
  ["of it private", ({ memory }) => decimal(memory?.ownMiB, 1)],
  ["Peak RSS MiB", ({ peakMiB }) => decimal(peakMiB, 1)],
  ["CPU s per minute", ({ cpuSeconds }) => decimal(cpuSeconds, 2)],
  ["RSS MiB after a restart", ({ restarted }) => decimal(restarted.memory?.totalMiB, 1)],
  ["private after a restart", ({ restarted }) => decimal(restarted.memory?.ownMiB, 1)],
  ["Cloud calls per minute", ({ cloudCalls }) => String(cloudCalls)],
];

/** Claims as kube-controller-manager leaves them to the provisioner, and then one VolumeAttachment for each volume. */
async function createVolumes({ api, cloud }: Bench, count: number): Promise<() => boolean> {
  await api.create(
    storageClasses,
    { metadata: { name: "bench" }, provisioner: driver, reclaimPolicy: "Delete" },
    never,
  );
  const indexes = Array.from({ length: count }, (_, index) => index);
  const annotations = { "volume.kubernetes.io/storage-provisioner": driver };
  await inParallel(indexes, 32, async (index) => {
    const metadata = { name: `data-${index}`, namespace: "default", annotations };
    const resources = { requests: { storage: "1Gi" } };
    const spec = { accessModes: ["ReadWriteOnce"], storageClassName: "bench", resources };
    await api.create(persistentVolumeClaims, { metadata, spec }, never);
  });
  return () => cloud.volumes.list().length === count;
}

async function attachVolumes({ api, cloud }: Bench): Promise<() => boolean> {
  const { items } = await api.listPage(persistentVolumes, { limit: 1_000_000 }, never);
  const room = new Map<string, string[]>();
  for (const { name, zone } of cloud.machines.list())
    room.set(zone, [...(room.get(zone) ?? []), ...Array.from({ length: perMachine }, () => name)]);
  await inParallel(items, 32, async ({ metadata: { name }, spec }) => {
    const { zone } = cloud.volumes.get(spec?.csi?.volumeHandle ?? "");
    const nodeName = room.get(zone)?.pop() ?? "";
    const source = { persistentVolumeName: name };
    await api.create(
      volumeAttachments,
      { metadata: { name }, spec: { attacher: driver, nodeName, source } },
      never,
    );
  });
  return () => cloud.volumes.list().every(({ machine }) => machine !== null);
}

export async function measureVolumes(options: BenchOptions, volumes: number): Promise<VolumesRun> {
  await using bench = await Bench.open(options);
  // All sizes with the same Nodes, so that only volumes make the difference.
  const nodes = nodesFor(500);
  await joinNodes(bench, nodes, 0);
  const start = () => startIdle(bench, "--controllers=*,volume");
  const manager = await start();
  const created = await createVolumes(bench, volumes);
  await untilDone(manager, "it created all volumes", created, { seconds: 300 });
  const areWritten = async () =>
    (await bench.api.listPage(persistentVolumes, { limit: 1_000_000 }, never)).items.length === volumes;
  await untilDone(manager, "it wrote all PersistentVolumes", areWritten, { seconds: 300 });
  await untilDone(manager, "it attached all volumes", await attachVolumes(bench), { seconds: 300 });
  printProgress(`  measuring one idle minute with ${volumes} volumes`);
  const run = await idleMinute(bench, manager, nodes);
  await manager.stop();
  printProgress(`  measuring another minute after a restart`);
  return { volumes, ...run, restarted: await idleMinute(bench, await start(), nodes) };
}

export const volumesSection = (runs: readonly VolumesRun[]): Section => sectionOf("Volumes", columns, runs);
