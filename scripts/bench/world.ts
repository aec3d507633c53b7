// The environment of a benchmark: an API server, a simulated cloud on loopback, and the executable in a temporary folder.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { type ServedCloud, serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { KubeApi } from "../../src/kube/client/api.ts";
import { isWrite } from "../../src/kube/requests/exchange.ts";
import type { RequestObservation } from "../../src/kube/requests/request.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { type UntilOptions, until } from "../../test/cluster/rig/until.ts";
import { connect } from "../../test/kube/cluster/connect.ts";
import { type BenchServer, startBenchServer } from "./api-server.ts";
import type { ServerRequests } from "./server-requests.ts";

export interface BenchOptions {
  readonly cloudLatencyMs: number;
  readonly actionMs: number;
  readonly flags: readonly string[];
  /** The executable to measure; undefined for the one in dist/. */
  readonly executable: string | undefined;
}

const executableName = "fake-cloud-controller-manager";
export const builtExecutable: string = resolve(import.meta.dir, "../../dist", executableName);

/** A running environment. Disposing it stops everything. */
export class Bench implements AsyncDisposable {
  readonly api: KubeApi;
  readonly cloud: FakeCloud;
  /** Path of the executable's copy. */
  readonly executable: string;
  readonly #server: BenchServer;
  readonly #served: ServedCloud;
  /** Grows with each request of this environment. */
  readonly #own: Pick<ServerRequests, "reads" | "writes">;
  readonly #folder: string;
  readonly #flags: readonly string[];
  readonly #managers: KeptProcess[] = [];
  readonly #stop = new AbortController();

  private constructor(
    options: BenchOptions,
    server: BenchServer,
    api: KubeApi,
    own: Pick<ServerRequests, "reads" | "writes">,
  ) {
    this.#server = server;
    this.#own = own;
    this.api = api;
    this.#flags = options.flags;
    this.#folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
    keepFolder(this.#folder);
    this.cloud = new FakeCloud({
      clock: systemClock,
      latency: milliseconds(options.cloudLatencyMs),
      actionTime: milliseconds(options.actionMs),
    });
    this.#served = serveFakeCloud(this.cloud, 0);
    this.executable = join(this.#folder, executableName);
    copyFileSync(options.executable ?? builtExecutable, this.executable);
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

  /** Aborted when the benchmark ends. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The API server's own counts, without the requests of this environment; undefined when it does not count. */
  async requests(): Promise<ServerRequests | undefined> {
    const all = await this.#server.requests();
    const { reads, writes } = this.#own;
    return all && { ...all, reads: all.reads - reads, writes: all.writes - writes };
  }

  /** Starts the executable. */
  start(...flags: readonly string[]): KeptProcess {
    const common = [
      `--kubeconfig=${this.#server.kubeconfigPath}`,
      // Several may run on one machine.
      "--secure-port=0",
    ];
    const command = [this.executable, ...common, ...this.#flags, ...flags];
    const manager = startProcess(command, {
      cwd: this.#folder,
      // Upstream's manager with the provider of test/differential reads it too.
      env: { FAKE_ENDPOINT: this.#served.url },
    });
    this.#managers.push(manager);
    return manager;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    for (const manager of this.#managers) await manager.stop();
    await this.#served[Symbol.asyncDispose]();
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits for something that the manager does; throws when the manager exits first. */
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
