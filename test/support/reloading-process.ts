// A whole process with its port, over a test API server and a cloud in virtual time, whose configuration files change.

import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import { ReloadRequests } from "../../src/app/configuration/reload-requests.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
// The program itself imports these modules lazily, which would take real time here.
import "../../src/app/process-life.ts";
import { runProgram } from "../../src/app/run.ts";
import "../../src/config-file/parse-yaml.ts";
import type { Listen, ListenOptions } from "../../src/platform/listener.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport } from "../../src/platform/transport.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import type { ServiceWorld } from "./service-world.ts";

export const configPath = "/etc/fairlead.yaml";
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n";

/** A --config file with these flags, each as "name: value". */
export const flagsFile = (...flags: readonly string[]): string =>
  `${head}flags:\n${flags.map((flag) => `  ${flag}\n`).join("")}`;

export interface ProcessOptions {
  readonly world: ServiceWorld;
  /** Files by path. */
  readonly contents: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly provider?: unknown;
  readonly environment?: Readonly<Record<string, string>>;
  /** Sees each request to the cloud before it is sent. */
  readonly onCloud?: (what: string, signal: AbortSignal) => Promise<void> | undefined;
}

const figures = {
  cpuSeconds: () => 1.5,
  residentBytes: () => 1000,
  heapBytes: () => 500,
  startedAtSeconds: 1,
  objects: () => [],
  snapshot: () => "{}",
};

export class ReloadingProcess {
  readonly world: ServiceWorld;
  readonly disk: MemoryFiles;
  readonly lines: string[] = [];
  /** Requests to the API server and the cloud, for example "GET /api/v1/nodes?limit=500". */
  readonly kube: string[] = [];
  readonly cloud: string[] = [];
  /** The bodies of requests to the cloud and to a collector of traces. */
  readonly bodies: string[] = [];
  /** The authorization headers that the cloud has received. */
  readonly tokens = new Set<string>();
  readonly reloads = new ReloadRequests();
  code: number | undefined;
  readonly #stop = new AbortController();
  #port: ListenOptions | undefined;

  constructor({ world, contents, args = [], provider = fake, environment = {}, onCloud }: ProcessOptions) {
    this.world = world;
    this.disk = new MemoryFiles(contents);
    const listen: Listen = async (options) => {
      this.#port = options;
      return { port: 1, renew: () => undefined, close: async () => undefined };
    };
    const recording =
      (into: string[], send: Transport, before?: ProcessOptions["onCloud"]): Transport =>
      async (request, signal) => {
        const { pathname, search } = new URL(request.url);
        const what = `${request.method} ${pathname}${search}`;
        into.push(what);
        await before?.(what, signal);
        return send(request, signal);
      };
    const toCloud: Transport = (request, signal) => {
      this.bodies.push(String(request.body ?? ""));
      this.tokens.add(new Headers(request.headers).get("authorization") ?? "");
      world.asked.push(`${request.method} ${new URL(request.url).pathname.replace(/^\/v1/, "")}`);
      return cloudTransport(world.cloud)(request, signal);
    };
    const streams = {
      out: () => undefined,
      err: (text: string) => void this.lines.push(text),
      serving: { listen, figures },
      reloads: this.reloads,
    };
    const platform = {
      clock: world.clock,
      random: seededRandom(3),
      files: this.disk.files,
      transport: recording(this.kube, asTransport(world.server)),
      cloudTransport: recording(this.cloud, toCloud, onCloud),
      environment: { HOSTNAME: "replica", ...environment },
    };
    void runProgram(
      provider as AnyProvider,
      ["--master=https://test-api-server:6443", ...args],
      streams,
      platform,
      this.#stop.signal,
    ).then((code) => {
      this.code = code;
    });
  }

  linesWith(word: string): readonly string[] {
    return this.lines.filter((line) => line.includes(word));
  }

  untilLeading(): Promise<void> {
    return this.world.until(() => this.linesWith("Acquired leadership").length > 0, "it to lead");
  }

  /** Writes the --config file, and waits until it was read. */
  async write(...flags: readonly string[]): Promise<void> {
    this.disk.put(configPath, flagsFile(...flags));
    await this.world.pass(30);
  }

  /** Writes a file and sends SIGHUP. */
  hangUp(path?: string, text = ""): void {
    if (path !== undefined) this.disk.put(path, text);
    this.reloads.request();
  }

  async page(target: string): Promise<string> {
    const asked = this.#port?.handle({
      method: "GET",
      target,
      peer: undefined,
      client: "10.0.0.1",
      body: async () => "",
      headers: [],
    });
    await this.world.pass(2);
    return (await asked)?.body ?? "";
  }

  /** The sum of a metric's series. */
  async metric(name: string): Promise<number> {
    const rows = (await this.page("/metrics"))
      .split("\n")
      .filter((row) => row.match(/^[^{ ]+/)?.[0] === name);
    return rows.reduce((sum, row) => sum + Number(row.split(" ").at(-1)), 0);
  }

  /** Listings and watches that were opened: requests to the API server for whole resources. */
  get listings(): readonly string[] {
    return this.kube.filter((what) => /^GET [^?]*\/(nodes|services|leases|endpointslices)(\?|$)/.test(what));
  }

  lease(): Readonly<Record<string, unknown>> {
    return this.world.server.store.get("leases", "kube-system", "cloud-controller-manager")?.spec ?? {};
  }

  forget(): void {
    this.kube.length = 0;
    this.cloud.length = 0;
    this.world.forget();
  }

  /** Ends the process like SIGTERM. */
  terminate(): void {
    this.#stop.abort(new Error("received SIGTERM"));
  }

  async end(): Promise<number | undefined> {
    this.terminate();
    await this.world.until(() => this.code !== undefined, "it to end");
    return this.code;
  }
}
