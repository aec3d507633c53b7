// Measures a manager that creates and attaches volumes, and then an idle minute: memory, processor
// time and cloud calls. Another manager then finds the same volumes.

import {
  nodes,
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
  /** The result of the manager that found the volumes when it started. */
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

const everything = { limit: 1_000_000 };

/** Creates claims in the state in which kube-controller-manager leaves them to the provisioner. */
async function createVolumes({ api }: Bench, count: number): Promise<void> {
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
}

/** Creates one VolumeAttachment for each volume. */
async function attachVolumes({ api }: Bench): Promise<void> {
  const { items } = await api.listPage(persistentVolumes, everything, never);
  const room = new Map<string, string[]>();
  for (const { metadata } of (await api.listPage(nodes, everything, never)).items) {
    const zone = metadata.labels?.["topology.kubernetes.io/zone"] ?? "";
    room.set(zone, [...(room.get(zone) ?? []), ...Array.from({ length: perMachine }, () => metadata.name)]);
  }
  await inParallel(items, 32, async ({ metadata: { name }, spec }) => {
    const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const nodeName = room.get(term?.matchExpressions?.[0]?.values?.[0] ?? "")?.pop() ?? "";
    const source = { persistentVolumeName: name };
    await api.create(
      volumeAttachments,
      { metadata: { name }, spec: { attacher: driver, nodeName, source } },
      never,
    );
  });
}

export async function measureVolumes(options: BenchOptions, volumes: number): Promise<VolumesRun> {
  await using bench = await Bench.open(options);
  // All sizes have the same Nodes, so that only volumes make the difference.
  const count = nodesFor(500);
  await joinNodes(bench, count, 0);
  const start = () => startIdle(bench, "--controllers=*,volume");
  const manager = await start();
  await createVolumes(bench, volumes);
  const areWritten = async () =>
    (await bench.api.listPage(persistentVolumes, everything, never)).items.length === volumes;
  await untilDone(manager, "it wrote all PersistentVolumes", areWritten, { seconds: 300 });
  await attachVolumes(bench);
  const areAttached = async () =>
    (await bench.api.listPage(volumeAttachments, everything, never)).items.every(
      ({ status }) => status?.attached === true,
    );
  await untilDone(manager, "it attached all volumes", areAttached, { seconds: 300, everyMs: 500 });
  printProgress(`  measuring one idle minute with ${volumes} volumes`);
  const run = await idleMinute(bench, manager, count);
  await manager.stop();
  printProgress(`  measuring another minute after a restart`);
  return { volumes, ...run, restarted: await idleMinute(bench, await start(), count) };
}

export const volumesSection = (runs: readonly VolumesRun[]): Section => sectionOf("Volumes", columns, runs);
