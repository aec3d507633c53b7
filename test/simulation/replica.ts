// One replica of the manager in the simulation, with its own clock, network and process, which can be disrupted. `onSend` sees
// every request that it sends.

import { fake } from "../../providers/fake/index.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
import type { ReadFlags } from "../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../src/app/manager/manager.ts";
import type { Files } from "../../src/platform/files.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { createLog } from "../../src/telemetry/log.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { Network, type NetworkDeps, type RequestOutcome } from "./network.ts";
import { ProcessClock, SimulatedProcess } from "./simulated-process.ts";

export interface ReplicaDeps {
  readonly name: string;
  readonly world: VirtualClock;
  readonly random: Random;
  readonly settings: ReadFlags;
  readonly environment: Readonly<Record<string, string>>;
  readonly kube: (replica: Replica) => Transport;
  readonly cloud: Transport;
  /** Called for each request to the API server or the cloud. */
  readonly onSend: (
    replica: Replica,
    request: TransportRequest,
    to: "kube" | "cloud",
  ) => (ending: RequestOutcome) => void;
  readonly onError: (replica: Replica, error: unknown) => void;
  readonly write: (line: string) => void;
}

const noFiles: Files = {
  read: () => Promise.reject(Object.assign(new Error("no files in the simulation"), { code: "ENOENT" })),
  version: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
  run: () => Promise.reject(new Error("no programs in the simulation")),
};

export class Replica {
  readonly name: string;
  readonly startedAt: number;
  readonly process: SimulatedProcess;
  readonly clock: ProcessClock;
  readonly kube: Network;
  readonly cloud: Network;
  /** Milliseconds in one direction to the API server and to the cloud. */
  latency = { kube: 2, cloud: 20 };
  manager: Manager | undefined;
  readonly #stop = new AbortController();
  readonly #deps: ReplicaDeps;
  /** Whether the process exited after `terminate`. */
  hasExited = false;

  constructor(deps: ReplicaDeps) {
    const { name, world, random } = deps;
    this.#deps = deps;
    this.name = name;
    this.startedAt = world.monotonic();
    this.process = new SimulatedProcess(world);
    this.clock = new ProcessClock(world, this.process, Math.floor(random.fraction() * 1_000_000));
    const network = (server: Transport, latency: () => number, onSend: NetworkDeps["onSend"]) =>
      new Network({ world, process: this.process, random, server, latency, onSend });
    this.kube = network(
      deps.kube(this),
      () => this.latency.kube,
      (request) => deps.onSend(this, request, "kube"),
    );
    this.cloud = network(
      deps.cloud,
      () => this.latency.cloud,
      (request) => deps.onSend(this, request, "cloud"),
    );
  }

  start(): void {
    this.#run().then(
      () => {
        this.hasExited = true;
      },
      (error: unknown) => this.#deps.onError(this, error),
    );
  }

  /** Like SIGTERM: the replica finishes its work, then releases the Lease. */
  terminate(): void {
    this.#stop.abort(new Error("SIGTERM"));
  }

  async #run(): Promise<void> {
    const { settings, environment, random, name, write } = this.#deps;
    const log = createLog({
      format: "text",
      verbosity: 0,
      clock: this.clock,
      write: (line) => write(`${name} ${line}`),
    });
    this.manager = await createManager(
      {
        provider: fake as unknown as AnyProvider,
        settings,
        log,
        platform: {
          clock: this.clock,
          random: seededRandom(Math.floor(random.fraction() * 2 ** 32)),
          files: noFiles,
          transport: this.kube.transport,
          cloudTransport: this.cloud.transport,
          environment: { ...environment, HOSTNAME: name },
        },
      },
      this.#stop.signal,
    );
    await this.manager.run();
    if (!this.#stop.signal.aborted) throw new Error("The manager exited on its own.");
  }
}
