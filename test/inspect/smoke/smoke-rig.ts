// Runs the command `smoke` with the simulated cloud of a harness, in virtual time, with faults in its transport.

import { runProgram } from "../../../src/app/run.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../../src/platform/transport.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import type { Harness, SimulatedCloud } from "../../../src/testing/conformance/simulated-cloud.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
// Loaded here, so that virtual time does not pass while the command loads its code.
import "../../../src/inspect/smoke/preview.ts";
import "../../../src/inspect/smoke/smoke-text.ts";
import "../../../src/inspect/smoke/smoke.ts";

export const isRead = ({ method, body }: Pick<TransportRequest, "method" | "body">): boolean =>
  method === "GET" || (method === "POST" && /^Action=(Describe|Get)/.test(String(body ?? "")));

export interface Ended {
  /** Undefined if the process was killed. */
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
  /** The report as text. */
  readonly report: string;
}

export interface RunOptions {
  readonly args?: readonly string[];
  readonly typed?: string;
  /** The cloud settings, if they differ from the harness's. */
  readonly config?: Readonly<Record<string, string>>;
  /** Wraps the transport between the command and the cloud. */
  readonly through?: (transport: Transport) => Transport;
  /** When it returns true, the process is killed immediately. */
  readonly isKilled?: () => boolean;
  /** When it returns true, the disk is full. */
  readonly refusesWrites?: () => boolean;
  readonly signal?: AbortSignal;
}

export class SmokeRig {
  readonly harness: Harness;
  readonly clock = new VirtualClock();
  readonly cloud: SimulatedCloud;
  readonly disk = new MemoryFiles();
  readonly changes: string[] = [];
  readonly #random = seededRandom(7);

  constructor(harness: Harness) {
    this.harness = harness;
    this.cloud = harness.simulate(this.clock);
    for (const name of ["worker-1", "worker-2"]) this.cloud.addMachine(name);
  }

  get provider(): AnyProvider {
    return this.harness.definition;
  }

  get state(): string {
    this.cloud.settle?.();
    return JSON.stringify(this.cloud.state());
  }

  async read(path: string): Promise<string> {
    return this.disk.files.read(path).catch(() => "");
  }

  get recordPath(): string {
    return `fairlead-smoke-${this.provider.name}.record.json`;
  }

  async run({
    args = ["--yes"],
    typed,
    config = this.harness.config,
    through = (one) => one,
    isKilled,
    refusesWrites,
    signal,
  }: RunOptions = {}): Promise<Ended> {
    let out = "";
    let err = "";
    let isGone = false;
    const { clock, cloud, disk } = this;
    const sent: Transport = (request, given) => {
      if (isGone) return new Promise(() => undefined);
      if (!isRead(request)) this.changes.push(`${request.method} ${new URL(request.url).pathname}`);
      return cloud.transport(request, given);
    };
    const settings = Object.entries(config).map(([name, value]) => `--config-set=${name}=${value}`);
    const report = `report-${this.#random.uuid()}.json`;
    const platform = {
      clock,
      random: this.#random,
      files: {
        ...disk.files,
        write: async (path: string, content: string | Uint8Array, mode: number) => {
          if (isGone) return new Promise<never>(() => undefined);
          if (refusesWrites?.() === true) throw new Error("no space left on device");
          return disk.files.write(path, content, mode);
        },
      },
      transport: () => Promise.reject(new Error("smoke needs no API server")),
      cloudTransport: through(sent),
      environment: {},
    };
    const console = {
      out: (text: string) => {
        out += text;
      },
      err: (text: string) => {
        err += text;
      },
      ...(typed !== undefined && { readLine: async () => typed }),
    };
    let code: number | undefined;
    let failure: unknown;
    const words = ["smoke", ...args, ...settings];
    if (!args.some((word) => word.startsWith("--file="))) words.push(`--file=${report}`);
    const done = runProgram(
      this.provider,
      words,
      console,
      platform,
      signal ?? new AbortController().signal,
    ).then(
      (ended) => {
        code = ended;
      },
      (error: unknown) => {
        failure = error;
      },
    );
    for (let passed = 0; code === undefined && failure === undefined && !isGone; passed += 1) {
      if (passed > 40_000) throw new Error(`smoke does not end: ${out}${err}`);
      await clock.advance(milliseconds(100));
      isGone = isKilled?.() === true;
    }
    if (failure !== undefined) throw failure;
    if (!isGone) await done;
    return { code, out, err, report: await this.read(report) };
  }
}
