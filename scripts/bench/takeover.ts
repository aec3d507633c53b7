// Measures each cloud with many Services: their creation, another Node, and the takeover by another replica. Reports the longest time that
// the event loop of the manager was blocked: a leader that is blocked for ten seconds loses its Lease.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { milliseconds } from "../../src/core/brand.ts";
import type { Draft, KubeApi } from "../../src/kube/client/api.ts";
import type { Service } from "../../src/kube/objects.ts";
import { nodes, services } from "../../src/kube/resources.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { freePort } from "../../test/cluster/rig/free-port.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { connect, never } from "../../test/kube/cluster/connect.ts";
import { type LocalCloud, type LocalCloudDefinition, variablesOf } from "../clouds/local-cloud.ts";
import { type BenchServer, startBenchServer } from "./api-server.ts";
import { type LoopPauses, LoopProbe } from "./loop-probe.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { describeCost, Progress } from "./progress.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { type BenchOptions, untilDone } from "./world.ts";

interface TakeoverStep extends LoopPauses {
  readonly name: string;
  readonly seconds: number;
  readonly requests: number;
  readonly cost: ProcessCost | undefined;
}

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

export const executableOf = (cloud: string): string =>
  resolve(import.meta.dir, "../../dist", `${cloud}-cloud-controller-manager`);

/** A step ends after this time without a request to the cloud. */
const quietMs = 5000;
const maxSeconds = 1800;

interface Replica {
  readonly process: KeptProcess;
  readonly port: number;
}

interface StepPlan {
  readonly name: string;
  readonly replica: Replica;
  readonly begin: () => Promise<unknown>;
  readonly isDone: () => boolean | Promise<boolean>;
}

class World implements AsyncDisposable {
  readonly steps: TakeoverStep[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  readonly #executable: string;
  readonly #options: BenchOptions;
  readonly #server: BenchServer;
  readonly #cloud: LocalCloud;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #replicas: KeptProcess[] = [];

  constructor(options: BenchOptions, server: BenchServer, definition: LocalCloudDefinition) {
    keepFolder(this.#folder);
    this.#options = options;
    this.#server = server;
    this.#cloud = definition.open({
      clock: systemClock,
      port: 0,
      token: definition.exampleToken,
      requestsPerHour: definition.defaultRequestsPerHour === undefined ? 0 : 1_000_000,
      latency: milliseconds(options.cloudLatencyMs),
      actionTime: milliseconds(options.actionMs),
    });
    this.#variables = variablesOf(definition, this.#cloud);
    this.#executable = join(this.#folder, definition.name);
    copyFileSync(executableOf(definition.name), this.#executable);
  }

  start(): Replica {
    const port = freePort();
    const { kubeconfigPath } = this.#server;
    const flags = [`--kubeconfig=${kubeconfigPath}`, `--secure-port=${port}`, "--bind-address=127.0.0.1"];
    const process = startProcess([this.#executable, ...flags, ...this.#options.flags], {
      cwd: this.#folder,
      env: this.#variables,
    });
    this.#replicas.push(process);
    return { process, port };
  }

  async join(api: KubeApi, name: string): Promise<void> {
    this.#cloud.addMachine(name);
    await api.create(nodes, kubeletNode(name), never);
  }

  get requests(): number {
    return Object.values(this.#cloud.requestCounts()).reduce((sum, count) => sum + count, 0);
  }

  async measure({ name, replica: { process, port }, begin, isDone }: StepPlan): Promise<void> {
    const before = this.requests;
    using _ = new Progress(
      () => `${name}: ${this.requests - before} cloud requests; ${describeCost(processCost(process.pid))}`,
    );
    const probe = new LoopProbe(process, port);
    const began = performance.now();
    await begin();
    await untilDone(process, name, isDone, { seconds: maxSeconds, everyMs: 500 });
    const lastAt = await this.#untilQuiet(process);
    this.steps.push({
      name,
      seconds: (lastAt - began) / 1000,
      requests: this.requests - before,
      cost: processCost(process.pid),
      ...(await probe.stop()),
    });
  }

  /** Returns the time of the last request. */
  async #untilQuiet(process: KeptProcess): Promise<number> {
    let [seen, lastAt] = [this.requests, performance.now()];
    const isQuiet = (): boolean => {
      if (this.requests !== seen) [seen, lastAt] = [this.requests, performance.now()];
      return performance.now() - lastAt > quietMs;
    };
    await untilDone(process, "cloud requests stopped", isQuiet, { seconds: maxSeconds });
    return lastAt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.#replicas) await replica.stop();
    await this.#cloud[Symbol.asyncDispose]();
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const serviceAt = (index: number): Draft<Service> => ({
  metadata: { name: `web-${index}`, namespace: "default" },
  spec: {
    type: "LoadBalancer",
    selector: { app: "web" },
    ports: [{ port: 1000 + index, targetPort: 8080, nodePort: 30_000 + index }],
  },
  status: {},
});

export async function measureTakeover(
  options: BenchOptions,
  definition: LocalCloudDefinition,
  size: { readonly count: number; readonly nodes: number },
): Promise<TakeoverRun> {
  const count = Math.min(size.count, definition.maxLoadBalancers ?? size.count);
  const server = await startBenchServer();
  const api = await connect(server.kubeconfigPath);
  await using world = new World(options, server, definition);
  const first = world.start();
  const withAddress = async (): Promise<number> => {
    const { items } = await api.listPage(services, { namespace: "default", limit: 5000 }, never);
    return items.filter(({ status }) => status.loadBalancer?.ingress?.length).length;
  };
  await world.measure({
    name: "all created",
    replica: first,
    begin: async () => {
      for (let index = 0; index < size.nodes; index++) await world.join(api, `node-${index}`);
      const indexes = Array.from({ length: count }, (_, index) => index);
      await inParallel(indexes, 32, (index) => api.create(services, serviceAt(index), never));
    },
    isDone: async () => (await withAddress()) === count,
  });
  const created = world.requests;
  await world.measure({
    name: "one more Node",
    replica: first,
    begin: () => world.join(api, "one-more"),
    isDone: () => world.requests - created > count / 2,
  });
  const second = world.start();
  const hasLogged = (text: string) => () => second.process.output().includes(text);
  await untilDone(second.process, "it waited for the Lease", hasLogged("on standby"));
  await world.measure({
    name: "takeover",
    replica: second,
    begin: () => first.process.stop(),
    isDone: hasLogged("Acquired leadership"),
  });
  return { server: server.name, cloud: definition.name, count, nodes: size.nodes, steps: world.steps };
}

export function takeoverSection(runs: readonly TakeoverRun[]): Section {
  return sectionOf(
    "Many Services, and the takeover by another replica",
    columns,
    runs.flatMap(({ steps, ...run }) => steps.map((step) => ({ ...run, step }))),
  );
}
