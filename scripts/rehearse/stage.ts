// The environment of a rehearsal: a test API server over HTTPS with kubelets, a simulated project over HTTP, and one manager at
// a time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { serveCloud } from "#ccm/testing";
import { HetznerCloud } from "../../providers/hetzner/simulator/index.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { systemFiles } from "../../src/platform/system-files.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { until } from "../../test/cluster/rig/until.ts";
import { changed, serviceDraft, serviceDrafts } from "./services.ts";
import { type State, stateOf } from "./state.ts";

const root = resolve(import.meta.dir, "../..");
const nodeCount = 3;
const token = "t".repeat(64);
const services = resourceNamed("services");

/** The variables of the operator that change what a manager does. */
function chosenSettings(): Readonly<Record<string, string>> {
  const isChosen = (name: string): boolean => /^HCLOUD_(LOAD_BALANCERS|INSTANCES)_/.test(name);
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = ""]) => (isChosen(name) ? [[name, value]] : [])),
  );
}

/** What a manager did: requests that change the cloud, and writes to Nodes and Services. */
export interface Deeds {
  readonly requests: number;
  readonly changes: readonly string[];
  readonly writes: readonly string[];
}

/** Requests of Nodes' and Services' writers; kubelets write without HTTP. */
const isWrite = (key: string): boolean => /^(create|update|patch|delete) (nodes|services)(\/|$)/.test(key);

export class Stage implements AsyncDisposable {
  readonly #server: ApiServer;
  readonly #https: HttpsServer;
  readonly #cloud: HetznerCloud;
  readonly #served: ReturnType<typeof serveCloud>;
  readonly #kubelets: Kubelets;
  readonly #folder: string;
  #manager: KeptProcess | undefined;
  #logs = "";

  private constructor(server: ApiServer, https: HttpsServer, folder: string) {
    this.#server = server;
    this.#https = https;
    this.#folder = folder;
    this.#cloud = new HetznerCloud({
      clock: systemClock,
      actionTime: milliseconds(200),
      latency: milliseconds(5),
    });
    this.#served = serveCloud(this.#cloud, 0);
    const { networks, servers } = this.#cloud.project;
    this.#cloud.tokens.add(token);
    const { id: network } = networks.add("cluster");
    const timing = { readyAfter: seconds(1) };
    const isMachineUp = () => true;
    this.#kubelets = new Kubelets({ server, clock: systemClock, random: systemRandom, isMachineUp, timing });
    for (let index = 0; index < nodeCount; index += 1) {
      servers.add(`node-${index}`, { networks: [{ network }] });
      this.#kubelets.join({ name: `node-${index}`, podCIDRs: [`10.244.${index}.0/24`] });
    }
    for (const draft of serviceDrafts()) server.objects.create(services, "default", draft);
  }

  static async open(): Promise<Stage> {
    const server = new ApiServer({ clock: systemClock, random: systemRandom });
    const authority = createAuthority("fairlead rehearsal", systemClock, systemRandom);
    const https = await HttpsServer.start({ server, authority, token: systemRandom.uuid() });
    const folder = mkdtempSync(join(tmpdir(), "fairlead-rehearsal-"));
    keepFolder(folder);
    await saveKubeconfig(https, systemFiles, join(folder, "kubeconfig"));
    return new Stage(server, https, folder);
  }

  /** Starts a manager with the flags and the environment of the Go manager's manifests. */
  start(commandLine: string): void {
    const flags = [
      `--kubeconfig=${join(this.#folder, "kubeconfig")}`,
      ...["--cloud-provider=hcloud", "--allow-untagged-cloud", "--leader-elect=false", "--secure-port=0"],
      ...["--cluster-cidr=10.244.0.0/16", "--allocate-node-cidrs=true", "--webhook-secure-port=0"],
      "--route-reconciliation-period=30s",
    ];
    this.#manager = startProcess(["sh", "-c", `exec ${commandLine} "$@"`, "sh", ...flags], {
      cwd: root,
      env: {
        HCLOUD_TOKEN: token,
        HCLOUD_ENDPOINT: `${this.#served.url}/v1`,
        HCLOUD_NETWORK: "cluster",
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
        HCLOUD_METRICS_ENABLED: "false",
        HCLOUD_LOAD_BALANCERS_LOCATION: "fsn1",
        ...chosenSettings(),
      },
    });
    this.#cloud.forget();
    this.#server.requests.clear();
  }

  async stop(): Promise<void> {
    this.#logs = this.#manager?.output() ?? "";
    await this.#manager?.stop(20);
    this.#manager = undefined;
  }

  /** What the manager did since it was started or this was last called. */
  deeds(): Deeds {
    const { seen } = this.#cloud;
    const found = {
      requests: seen.length,
      changes: seen.filter(({ mutates }) => mutates).map(({ operation }) => operation),
      writes: [...this.#server.requests]
        .filter(([key]) => isWrite(key))
        .map(([key, count]) => `${count} ${key}`),
    };
    this.#cloud.forget();
    this.#server.requests.clear();
    return found;
  }

  state(): State {
    return stateOf(this.#server, this.#cloud);
  }

  /** Waits until the manager has listed the cloud, everything has its address, and nothing has changed for some seconds. */
  async settle(): Promise<void> {
    const quiet = 6000;
    let last = { text: "", at: 0 };
    await until(
      "the manager to settle",
      () => {
        if (this.#manager !== undefined && this.#manager.exitCode() !== null)
          throw new Error(`The manager exited with ${this.#manager.exitCode()}.`);
        const writes = [...this.#server.requests].filter(([key]) => isWrite(key));
        const text = JSON.stringify([this.state(), this.#cloud.seen.length, writes]);
        if (text !== last.text) last = { text, at: performance.now() };
        return this.#isComplete() && performance.now() - last.at > quiet;
      },
      { seconds: 180, everyMs: 200, explain: () => (this.#manager?.output() ?? this.#logs).slice(-4000) },
    );
  }

  /** Users change a Service, add one and delete one. */
  change(round: number): void {
    const { objects } = this.#server;
    objects.patch(services, "default", "plain", "", ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...(metadata as JsonObject), annotations: changed(round) },
    }));
    objects.create(services, "default", serviceDraft(`round-${round}`, 100 + round, {}));
    if (round > 0) objects.delete(services, "default", `round-${round - 1}`);
  }

  #isComplete(): boolean {
    const nodes = this.#server.store.list("nodes") as unknown as readonly Node[];
    const all = this.#server.store.list("services") as unknown as readonly Service[];
    const wanted = all.filter(({ spec }) => spec.type === "LoadBalancer");
    return (
      this.#cloud.seen.length > 0 &&
      nodes.every(({ spec }) => spec.providerID !== undefined && (spec.taints ?? []).length === 0) &&
      wanted.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
      wanted.every(({ status }) => (status.loadBalancer?.ingress ?? []).length > 0) &&
      this.#cloud.project.networks.list().every(({ routes }) => routes.length === nodes.length) &&
      this.#cloud.project.balancers.list().length === wanted.length
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#kubelets.stop();
    await Promise.all([this.#https.stop(), this.#served[Symbol.asyncDispose]()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
