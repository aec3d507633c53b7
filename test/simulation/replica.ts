// One replica of the manager in the simulation: the whole program, with a separate clock, network, process and configuration
// file, which can be disrupted. `onSend` sees every request that the replica sends.

import { ReloadRequests } from "../../src/app/configuration/reload-requests.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
// The program imports these modules lazily, which would take real time in the simulation.
import "../../src/app/process-life.ts";
import "../../src/config-file/parse-yaml.ts";
import "../../src/telemetry/log.ts";
import { runProgram } from "../../src/app/run.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { Network, type NetworkDeps, type RequestOutcome } from "./network.ts";
import { ProcessClock, SimulatedProcess } from "./simulated-process.ts";

export interface ReplicaDeps {
  readonly name: string;
  readonly world: VirtualClock;
  readonly random: Random;
  readonly args: readonly string[];
  /** The content of the configuration file at the start. */
  readonly configuration: string;
  readonly provider: AnyProvider;
  readonly kube: (replica: Replica) => Transport;
  readonly cloud: (replica: Replica) => Transport;
  /** Called for each request to the API server or the cloud. */
  readonly onSend: (
    replica: Replica,
    request: TransportRequest,
    to: "kube" | "cloud",
  ) => (ending: RequestOutcome) => void;
  readonly onError: (replica: Replica, error: unknown) => void;
  readonly write: (line: string) => void;
}

const configPath = "/etc/fairlead.yaml";

export class Replica {
  readonly name: string;
  /** The start time (monotonic time of the world). */
  readonly startedAt: number;
  readonly process: SimulatedProcess;
  readonly clock: ProcessClock;
  readonly kube: Network;
  readonly cloud: Network;
  /** Milliseconds in one direction to the API server and to the cloud. */
  latency = { kube: 2, cloud: 20 };
  /** Whether the process was asked to stop. */
  isTerminated = false;
  /** Whether its lists failed for minutes, so that it may let another replica lead. */
  wasBlind = false;
  /** Whether the process exited after `terminate`. */
  hasExited = false;
  readonly #stop = new AbortController();
  readonly #reloads = new ReloadRequests();
  readonly #files: MemoryFiles;
  readonly #deps: ReplicaDeps;

  constructor(deps: ReplicaDeps) {
    const { name, world, random } = deps;
    this.#deps = deps;
    this.name = name;
    this.startedAt = world.monotonic();
    this.#files = new MemoryFiles({ [configPath]: deps.configuration });
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
      deps.cloud(this),
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

  /** Terminates the replica like SIGTERM: it finishes its work, then releases the Lease. */
  terminate(): void {
    this.isTerminated = true;
    this.#stop.abort(new Error("SIGTERM"));
  }

  /** Replaces the configuration file, which the process reads within seconds, or immediately after a signal. */
  configure(content: string, by: "file" | "signal"): void {
    this.#files.put(configPath, content);
    if (by === "signal") this.process.deliver("timer", () => this.#reloads.request());
  }

  async #run(): Promise<void> {
    const { args, random, name, write, provider } = this.#deps;
    const print = (text: string): void => write(`${name} ${text}`);
    const code = await runProgram(
      provider,
      [...args, `--config=${configPath}`],
      { out: print, err: print, reloads: this.#reloads },
      {
        clock: this.clock,
        random: seededRandom(Math.floor(random.fraction() * 2 ** 32)),
        files: this.#files.files,
        transport: this.kube.transport,
        cloudTransport: this.cloud.transport,
        environment: { HOSTNAME: name },
      },
      this.#stop.signal,
    );
    if (!this.isTerminated || code !== 0)
      throw new Error(`The manager exited on its own, with the code ${code}.`);
  }
}
