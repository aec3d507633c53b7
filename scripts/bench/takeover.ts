// Measures each cloud with many Services: their creation, another Node, and the takeover by another replica. Reports the longest
// time that the event loop of the manager was blocked: a leader that is blocked for ten seconds loses its Lease.

import { services } from "../../src/kube/resources.ts";
import { freePort } from "../../test/cluster/rig/free-port.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { type LoopPauses, LoopProbe } from "./loop-probe.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { service } from "./services.ts";
import { type Step, type StepPlan, StepTimer } from "./steps.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

type TakeoverStep = Step & LoopPauses;

export interface TakeoverRun {
  readonly server: string;
  readonly cloud: string;
  readonly count: number;
  readonly nodes: number;
  readonly steps: readonly TakeoverStep[];
}

type Row = Omit<TakeoverRun, "steps"> & { readonly step: TakeoverStep };

const columns: Columns<Row> = [
  ["Cloud", ({ cloud }) => cloud],
  ["Services", ({ count }) => String(count)],
  ["Nodes", (row) => String(row.nodes)],
  ["Step", ({ step }) => step.name],
  ["s", ({ step }) => decimal(step.seconds, 1)],
  ["Cloud requests", ({ step }) => String(step.requests)],
  ["p99 ms", ({ step }) => decimal(step.p99Ms, 0)],
  ["Max ms", ({ step }) => decimal(step.worstMs, 0)],
  ["Max ms on a processor", ({ step }) => decimal(step.worstRunMs, 0)],
  ["CPU s so far", ({ step }) => decimal(step.cost?.cpuSeconds, 2)],
  ["Peak RSS MiB so far", ({ step }) => decimal(step.cost?.peakMiB, 0)],
];

/** A controller may pause between its requests to the cloud. */
const timing = { quietMs: 5000, everyMs: 500 };

interface Replica {
  readonly process: KeptProcess;
  readonly port: number;
}

export async function measureTakeover(
  options: BenchOptions,
  size: { readonly count: number; readonly nodes: number },
): Promise<TakeoverRun> {
  const { name, maxLoadBalancers = size.count } = options.cloud;
  const count = Math.min(size.count, maxLoadBalancers);
  await using bench = await Bench.open(options);
  const { api, cloud } = bench;
  const start = (): Replica => {
    const port = freePort();
    return { process: bench.start(`--secure-port=${port}`, "--bind-address=127.0.0.1"), port };
  };
  const first = start();
  let replica = first;
  const timer = new StepTimer(bench, () => replica.process, timing);
  const steps: TakeoverStep[] = [];
  const measure = async (plan: StepPlan): Promise<void> => {
    const probe = new LoopProbe(replica.process, replica.port);
    const step = await timer.measure(plan);
    steps.push({ ...step, ...(await probe.stop()) });
  };
  const withAddress = async (): Promise<number> => {
    const { items } = await api.listPage(services, { namespace: "default", limit: 5000 }, never);
    return items.filter(({ status }) => status.loadBalancer?.ingress?.length).length;
  };
  await measure({
    name: "all created",
    start: async () => {
      for (let index = 0; index < size.nodes; index++) await bench.join(`node-${index}`);
      const indexes = Array.from({ length: count }, (_, index) => index);
      await inParallel(indexes, 32, (index) => api.create(services, service(index), never));
    },
    isDone: async () => (await withAddress()) === count,
  });
  const created = cloud.api.seen.length;
  await measure({
    name: "one more Node",
    start: () => bench.join("one-more"),
    // With more Nodes than a load balancer accepts, the Node becomes a target of only a few.
    isDone: () => cloud.api.seen.length > created,
  });
  replica = start();
  const hasLogged = (text: string) => () => replica.process.output().includes(text);
  await untilDone(replica.process, "it waited for the Lease", hasLogged("on standby"));
  await measure({
    name: "takeover",
    start: () => first.process.stop(),
    isDone: hasLogged("Acquired leadership"),
  });
  return { server: bench.serverName, cloud: name, count, nodes: size.nodes, steps };
}

export function takeoverSection(runs: readonly TakeoverRun[]): Section {
  return sectionOf(
    "Many Services, and the takeover by another replica",
    columns,
    runs.flatMap(({ steps, ...run }) => steps.map((step) => ({ ...run, step }))),
  );
}
