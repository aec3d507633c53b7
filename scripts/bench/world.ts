// The environment of a benchmark: an API server, a simulated cloud on loopback, and the executable in a temporary folder.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { milliseconds } from "../../src/core/brand.ts";
import type { KubeApi } from "../../src/kube/client/api.ts";
import { isWrite } from "../../src/kube/requests/exchange.ts";
import type { RequestObservation } from "../../src/kube/requests/request.ts";
import { nodes } from "../../src/kube/resources.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { type UntilOptions, until } from "../../test/cluster/rig/until.ts";
import { connect, never } from "../../test/kube/cluster/connect.ts";
import { type LocalCloud, type LocalCloudDefinition, variablesOf } from "../clouds/local-cloud.ts";
import { type BenchServer, startBenchServer } from "./api-server.ts";
import { type GoManager, goFlags } from "./go-managers.ts";
import { processCost, type StepCost } from "./process-cost.ts";
import type { ServerRequests } from "./server-requests.ts";

export interface BenchOptions {
  readonly cloud: LocalCloudDefinition;
  readonly cloudLatencyMs: number;
  readonly actionMs: number;
  readonly flags: readonly string[];
  /** The executable to measure; undefined for the one in dist/. */
  readonly executable: string | undefined;
  /** The Go manager to measure instead of the executable. */
  readonly peer?: GoManager;
}

export const builtExecutable = (cloud: string): string =>
  resolve(import.meta.dir, "../../dist", `${cloud}-cloud-controller-manager`);

/** A running environment. Disposing it stops everything. */
export class Bench implements AsyncDisposable {
  readonly api: KubeApi;
  readonly cloud: LocalCloud;
  /** Path of the executable's copy. */
  readonly executable: string;
  readonly #server: BenchServer;
  /** The request counts of this environment. */
  readonly #own: Pick<ServerRequests, "reads" | "writes">;
  readonly #folder: string;
  readonly #flags: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #managers: KeptProcess[] = [];

  private constructor(
    { cloud: definition, cloudLatencyMs, actionMs, flags, executable, peer }: BenchOptions,
    server: BenchServer,
    api: KubeApi,
    own: Pick<ServerRequests, "reads" | "writes">,
  ) {
    this.#server = server;
    this.#own = own;
    this.api = api;
    this.#folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
    keepFolder(this.#folder);
    this.cloud = definition.open({
      clock: systemClock,
      port: 0,
      token: definition.exampleToken,
      requestsPerHour: definition.defaultRequestsPerHour === undefined ? 0 : 1_000_000,
      latency: milliseconds(cloudLatencyMs),
      actionTime: milliseconds(actionMs),
    });
    this.#flags = peer === undefined ? flags : goFlags(peer, this.cloud, this.#folder);
    this.#env = { ...variablesOf(definition, this.cloud), ...peer?.env };
    this.executable = join(this.#folder, `${definition.name}-cloud-controller-manager`);
    copyFileSync(peer?.build() ?? executable ?? builtExecutable(definition.name), this.executable);
  }

  static async open(options: BenchOptions): Promise<Bench> {
    const server = await startBenchServer();
    const own = { reads: 0, writes: 0 };
    const onRequest = ({ verb }: Pick<RequestObservation, "verb">): void => {
      if (verb !== "watch") own[isWrite(verb) ? "writes" : "reads"] += 1;
    };
    return new Bench(options, server, await connect(server.kubeconfigPath, { onRequest }), own);
  }

  get serverName(): string {
    return this.#server.name;
  }

  /** The API server's own counts, without the requests of this environment; undefined if the server does not count. */
  async requests(): Promise<ServerRequests | undefined> {
    const all = await this.#server.requests();
    const { reads, writes } = this.#own;
    return all && { ...all, reads: all.reads - reads, writes: all.writes - writes };
  }

  /** The processor seconds since the start. */
  cost(manager: KeptProcess): StepCost {
    const { user, system } = process.cpuUsage();
    return {
      manager: processCost(manager.pid)?.cpuSeconds ?? Number.NaN,
      server: this.#server.cpuSeconds(),
      bench: (user + system) / 1e6,
    };
  }

  /** Starts the executable. */
  start(...flags: readonly string[]): KeptProcess {
    const common = [
      `--kubeconfig=${this.#server.kubeconfigPath}`,
      // Several managers may run on one machine.
      "--secure-port=0",
    ];
    const command = [this.executable, ...common, ...this.#flags, ...flags];
    const manager = startProcess(command, { cwd: this.#folder, env: this.#env });
    this.#managers.push(manager);
    return manager;
  }

  /** A machine, and its Node as a kubelet registers it. */
  async join(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    this.cloud.addMachine(name);
    const { metadata, ...rest } = kubeletNode(name);
    await this.api.create(
      nodes,
      { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } },
      never,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const manager of this.#managers) await manager.stop();
    await this.cloud[Symbol.asyncDispose]();
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits for an action of the manager; throws when the manager exits first. */
export async function untilDone(
  manager: KeptProcess,
  what: string,
  probe: () => boolean | Promise<boolean>,
  options: UntilOptions = {},
): Promise<void> {
  const lastOutput = (): string => manager.output().slice(-3000);
  const ended = manager.exited.then((code) => {
    throw new Error(`The manager exited with ${code} before ${what}.\n${lastOutput()}`);
  });
  await Promise.race([until(what, probe, { explain: lastOutput, ...options }), ended]);
}
