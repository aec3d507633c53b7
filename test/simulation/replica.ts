// One process of the manager in a simulated world: seams of its own, which can be cut, stopped and slowed down. What it
// hands to the network is told to whoever checks it.

import { fake } from "../../providers/fake/index.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
import type { ReadFlags } from "../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../src/app/manager/manager.ts";
import type { Files } from "../../src/platform/files.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { createLog } from "../../src/telemetry/log.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { Life, ProcessClock } from "./life.ts";
import { type Ending, Wire, type WireParts } from "./wire.ts";

export interface ReplicaParts {
  readonly name: string;
  readonly world: VirtualClock;
  readonly random: Random;
  readonly settings: ReadFlags;
  readonly environment: Readonly<Record<string, string>>;
  readonly kube: (replica: Replica) => Transport;
  readonly cloud: Transport;
  /** A request leaves for the API server, or for the cloud. */
  readonly onHandOver: (
    replica: Replica,
    request: TransportRequest,
    to: "kube" | "cloud",
  ) => (ending: Ending) => void;
  readonly onEnd: (replica: Replica, error: unknown) => void;
  readonly write: (line: string) => void;
}

const noFiles: Files = {
  read: () => Promise.reject(Object.assign(new Error("There are no files here."), { code: "ENOENT" })),
  version: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
  run: () => Promise.reject(new Error("There are no programs here.")),
};

export class Replica {
  readonly name: string;
  readonly startedAt: number;
  readonly life: Life;
  readonly clock: ProcessClock;
  readonly kube: Wire;
  readonly cloud: Wire;
  /** One way to the API server and to the cloud, in milliseconds. */
  pace = { kube: 2, cloud: 20 };
  manager: Manager | undefined;
  readonly #stop = new AbortController();
  readonly #parts: ReplicaParts;
  /** Whether its process has come to its end by itself, after it was told to. */
  hasEnded = false;

  constructor(parts: ReplicaParts) {
    const { name, world, random } = parts;
    this.#parts = parts;
    this.name = name;
    this.startedAt = world.monotonic();
    this.life = new Life(world);
    this.clock = new ProcessClock(world, this.life, Math.floor(random.fraction() * 1_000_000));
    const wire = (server: Transport, pace: () => number, onHandOver: WireParts["onHandOver"]) =>
      new Wire({ world, life: this.life, random, server, pace, onHandOver });
    this.kube = wire(
      parts.kube(this),
      () => this.pace.kube,
      (request) => parts.onHandOver(this, request, "kube"),
    );
    this.cloud = wire(
      parts.cloud,
      () => this.pace.cloud,
      (request) => parts.onHandOver(this, request, "cloud"),
    );
  }

  start(): void {
    this.#run().then(
      () => {
        this.hasEnded = true;
      },
      (error: unknown) => this.#parts.onEnd(this, error),
    );
  }

  /** As SIGTERM: the work ends, then the lease is given up. */
  terminate(): void {
    this.#stop.abort(new Error("The process was told to end."));
  }

  async #run(): Promise<void> {
    const { settings, environment, random, name, write } = this.#parts;
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
    if (!this.#stop.signal.aborted) throw new Error("The manager ended by itself.");
  }
}
