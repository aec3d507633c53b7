// The environment of a rehearsal: a test API server over HTTPS with kubelets, a simulated cloud over HTTP, and one manager at a
// time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { seconds } from "../../src/core/brand.ts";
import { defined } from "../../src/core/defined.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemFiles } from "../../src/platform/files.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { until } from "../../test/cluster/rig/until.ts";
import type { RehearsalDefinition, RehearsedCloud } from "./cloud.ts";
import { serviceDraft, serviceDrafts } from "./services.ts";
import { type State, stateOf } from "./state.ts";

const root = resolve(import.meta.dir, "../..");
const usualNodes = ["node-0", "node-1", "node-2"];
const services = resourceNamed("services");

/** Environment variables that change what a manager does. */
function chosenSettings(passed: RegExp): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = ""]) => (passed.test(name) ? [[name, value]] : [])),
  );
}

/** The actions of a manager: requests that change the cloud, and writes to Nodes and Services. */
export interface Deeds {
  readonly requests: number;
  readonly changes: readonly string[];
  readonly writes: readonly string[];
}

/** The part of a Service that a user writes. */
export interface ServiceText {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: JsonObject;
}

/** An event about a Service. */
export interface Report {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
}

/** The requests that write Nodes and Services; kubelets write without HTTP. */
const isWrite = (key: string): boolean => /^(create|update|patch|delete) (nodes|services)(\/|$)/.test(key);

export class Stage implements AsyncDisposable {
  readonly #server: ApiServer;
  readonly #https: HttpsServer;
  readonly #definition: RehearsalDefinition;
  readonly #cloud: RehearsedCloud;
  readonly #kubelets: Kubelets;
  readonly #folder: string;
  #manager: KeptProcess | undefined;
  #logs = "";
  /** The Service that users change. */
  #first: string | undefined;

  private constructor(
    definition: RehearsalDefinition,
    server: ApiServer,
    https: HttpsServer,
    folder: string,
  ) {
    this.#definition = definition;
    this.#server = server;
    this.#https = https;
    this.#folder = folder;
    this.#cloud = definition.open();
    const timing = { readyAfter: seconds(1) };
    const isMachineUp = () => true;
    this.#kubelets = new Kubelets({ server, clock: systemClock, random: systemRandom, isMachineUp, timing });
    for (const [index, name] of (this.#cloud.nodes ?? usualNodes).entries()) {
      this.#cloud.addMachine(name);
      this.#kubelets.join({ name, podCIDRs: [`10.244.${index}.0/24`] });
    }
  }

  /**
   * Creates the Services when all Nodes are initialized: a Go manager adds a Node that joins in the meantime only at a later
   * sync.
   */
  async createServices(): Promise<void> {
    await until("the manager to initialize all Nodes", () => this.#hasNodes(), {
      seconds: 900,
      everyMs: 200,
      explain: () => (this.#manager?.output() ?? this.#logs).slice(-4000),
    });
    this.create(this.#cloud.services);
  }

  create(all: RehearsedCloud["services"]): void {
    this.#first ??= Object.keys(all)[0];
    for (const draft of serviceDrafts(all)) this.#server.objects.create(services, "default", draft);
  }

  /** Creates the Service, or replaces what the user has written `before`. What managers have written stays. */
  put(name: string, { annotations, spec }: ServiceText, before?: ServiceText): void {
    const { objects } = this.#server;
    if (before === undefined) {
      const metadata = { name, namespace: "default", annotations };
      objects.create(services, "default", { apiVersion: "v1", kind: "Service", metadata, spec });
      return;
    }
    objects.patch(services, "default", name, "", ({ metadata, ...rest }) => {
      const { annotations: all, ...others } = metadata as JsonObject;
      const kept = Object.entries((all ?? {}) as JsonObject).filter(([key]) => !(key in before.annotations));
      const { clusterIP, clusterIPs } = rest["spec"] as JsonObject;
      return {
        ...rest,
        metadata: { ...others, annotations: { ...Object.fromEntries(kept), ...annotations } },
        spec: { ...spec, ...defined({ clusterIP, clusterIPs }) },
      };
    });
  }

  label(node: string, labels: Readonly<Record<string, string>>): void {
    this.#server.objects.patch(resourceNamed("nodes"), "", node, "", ({ metadata, ...rest }) => {
      const { labels: all, ...others } = metadata as JsonObject;
      return { ...rest, metadata: { ...others, labels: { ...(all as JsonObject), ...labels } } };
    });
  }

  service(name: string): Service {
    return this.#server.store.get("services", "default", name) as unknown as Service;
  }

  reports(name: string): readonly Report[] {
    const all = this.#server.store.list("events") as unknown as readonly (Report & {
      readonly involvedObject?: { readonly name?: string };
    })[];
    return all
      .filter(({ involvedObject }) => involvedObject?.name === name)
      .map(({ type, reason, message, count }) => ({ type, reason, message, count: count ?? 1 }));
  }

  /** The end of the manager's log. */
  log(): string {
    return (this.#manager?.output() ?? this.#logs).slice(-6000);
  }

  /**
   * Waits until the manager has sent no request to the cloud, and written nothing, for `quiet` milliseconds and `isDone`, or for
   * `silent` milliseconds in any case.
   */
  async rest(isDone: () => boolean, quiet: number, silent: number): Promise<void> {
    const isOver = (unchanged: number): boolean => unchanged > (isDone() ? quiet : silent);
    await this.#unchanged("the manager to rest", () => this.#cloud.api.seen.length, isOver);
  }

  static async open(definition: RehearsalDefinition): Promise<Stage> {
    const server = new ApiServer({ clock: systemClock, random: systemRandom });
    const authority = createAuthority("fairlead rehearsal", systemClock, systemRandom);
    const https = await HttpsServer.start({ server, authority, token: systemRandom.uuid() });
    const folder = mkdtempSync(join(tmpdir(), "fairlead-rehearsal-"));
    keepFolder(folder);
    await saveKubeconfig(https, systemFiles, join(folder, "kubeconfig"));
    return new Stage(definition, server, https, folder);
  }

  /** Starts a manager with the flags and the environment of the Go manager's manifests. */
  start(commandLine: string): void {
    const flags = [
      `--kubeconfig=${join(this.#folder, "kubeconfig")}`,
      ...["--leader-elect=false", "--secure-port=0", "--webhook-secure-port=0"],
      ...this.#cloud.flags,
    ];
    this.#manager = startProcess(["sh", "-c", `exec ${commandLine} "$@"`, "sh", ...flags], {
      cwd: root,
      env: {
        // For Fairlead only.
        FAIRLEAD_CLOUD: this.#definition.name,
        ...this.#cloud.env,
        ...chosenSettings(this.#definition.passed),
      },
    });
    this.#cloud.api.forget();
    this.#server.requests.clear();
  }

  async stop(): Promise<void> {
    this.#logs = this.#manager?.output() ?? "";
    await this.#manager?.stop(20);
    this.#manager = undefined;
  }

  /** The actions of the manager since its start, or since the last call. */
  deeds(): Deeds {
    const { seen } = this.#cloud.api;
    const found = {
      requests: seen.length,
      changes: seen.filter(({ mutates }) => mutates).map(({ operation }) => operation),
      writes: [...this.#server.requests]
        .filter(([key]) => isWrite(key))
        .map(([key, count]) => `${count} ${key}`),
    };
    this.#cloud.api.forget();
    this.#server.requests.clear();
    return found;
  }

  async state(): Promise<State> {
    return stateOf(this.#server, (await this.#cloud.describe?.()) ?? this.#cloud.state());
  }

  /** Waits until the manager has listed the cloud, everything has its address, and nothing has changed for some seconds. */
  async settle(): Promise<void> {
    const quiet = 6000;
    await this.#unchanged(
      "the manager to settle",
      () => [stateOf(this.#server, this.#cloud.state()), this.#cloud.api.seen.length],
      (unchanged) => this.#isComplete() && unchanged > quiet,
    );
  }

  /** Waits until this and the manager's writes have not changed for long enough, in milliseconds. */
  async #unchanged(
    what: string,
    current: () => unknown,
    isEnough: (unchanged: number) => boolean,
  ): Promise<void> {
    let last = { text: "", at: 0 };
    await until(
      what,
      () => {
        if (this.#manager !== undefined && this.#manager.exitCode() !== null)
          throw new Error(`The manager exited with ${this.#manager.exitCode()}.`);
        const writes = [...this.#server.requests].filter(([key]) => isWrite(key));
        const text = JSON.stringify([current(), writes]);
        if (text !== last.text) last = { text, at: performance.now() };
        return isEnough(performance.now() - last.at);
      },
      { seconds: 900, everyMs: 100, explain: () => this.log() },
    );
  }

  /** Users change a Service, add one and delete one. */
  change(round: number): void {
    const { objects } = this.#server;
    objects.patch(services, "default", this.#first ?? "", "", ({ metadata, ...rest }) => {
      const { annotations, ...others } = metadata as JsonObject;
      // A manager may have written annotations.
      const all = { ...(annotations as JsonObject), ...this.#definition.changed(round) };
      return { ...rest, metadata: { ...others, annotations: all } };
    });
    objects.create(services, "default", serviceDraft(`round-${round}`, 100 + round));
    if (round > 0) objects.delete(services, "default", `round-${round - 1}`);
  }

  get #nodes(): readonly Node[] {
    return this.#server.store.list("nodes") as unknown as readonly Node[];
  }

  #hasNodes(): boolean {
    return this.#nodes.every(({ spec }) => spec.providerID !== undefined && (spec.taints ?? []).length === 0);
  }

  #isComplete(): boolean {
    const all = this.#server.store.list("services") as unknown as readonly Service[];
    const wanted = all.filter(({ spec }) => spec.type === "LoadBalancer");
    return (
      this.#cloud.api.seen.length > 0 &&
      this.#hasNodes() &&
      wanted.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
      wanted.every(({ status }) => (status.loadBalancer?.ingress ?? []).length > 0) &&
      this.#cloud.isComplete(this.#nodes.length, wanted.length)
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#kubelets.stop();
    await Promise.all([this.#https.stop(), this.#cloud[Symbol.asyncDispose]()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
