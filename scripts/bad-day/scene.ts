// The environment of an emergency: a real control plane with three Nodes and two Services, a simulated Hetzner project, the
// executable, and the surfaces that an operator can inspect.

import { join } from "node:path";
import { serveCloud } from "#ccm/testing";
import { HetznerCloud } from "../../providers/hetzner/simulator/index.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { defined } from "../../src/core/defined.ts";
import type { Service } from "../../src/kube/objects.ts";
import { events, leases, services } from "../../src/kube/resources.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type Cluster, openCluster } from "../../test/cluster/rig/cluster.ts";
import type { ControlPlane } from "../../test/cluster/rig/control-plane.ts";
import { freePort } from "../../test/cluster/rig/free-port.ts";
import { type KeptProcess, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { until } from "../../test/cluster/rig/until.ts";

/** The surfaces that an operator inspects. `offline` is `explain` without a manager. */
export const surfaces = ["log", "events", "explain", "offline", "status", "doctor"] as const;
export type Surface = (typeof surfaces)[number];

export interface StartOptions {
  readonly kubeconfig?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export const token = "t".repeat(64);
export const nodeNames = ["node-1", "node-2", "node-3"] as const;
const serviceNames = ["shop", "blog"] as const;

const text = (html: string): string =>
  html
    .replace(/<(script|style)[^>]*>.*?<\/\1>/gs, "")
    .replace(/<[^>]+>/g, " ")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
    .replace(/[ \t]+/g, " ")
    .replace(/\s*\n\s*/g, "\n");

export class Scene implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly cluster: Cluster;
  readonly cloud: HetznerCloud;
  readonly port = freePort();
  readonly #served: ReturnType<typeof serveCloud>;
  readonly #executable: string;
  readonly #managers: KeptProcess[] = [];
  readonly #others: (() => Promise<unknown>)[] = [];
  #options: StartOptions = {};
  /** The position at which the log of the emergency begins. */
  #logFrom = 0;
  #since = 0;

  private constructor(plane: ControlPlane, cluster: Cluster, executable: string) {
    this.plane = plane;
    this.cluster = cluster;
    this.#executable = executable;
    this.cloud = new HetznerCloud({ clock: systemClock, actionTime: milliseconds(200) });
    this.cloud.tokens.add(token);
    this.#served = serveCloud(this.cloud, 0);
  }

  static async open(plane: ControlPlane, executable: string): Promise<Scene> {
    const scene = new Scene(plane, await openCluster(plane.kubeconfig), executable);
    const network = scene.cloud.project.networks.add("cluster");
    for (const [index, name] of nodeNames.entries()) {
      scene.cloud.project.servers.add(name, { networks: [{ network: network.id }] });
      const podCIDR = `10.244.${index}.0/24`;
      await scene.cluster.join(name, { podCIDR, podCIDRs: [podCIDR] });
    }
    for (const name of serviceNames) await scene.createService(name);
    return scene;
  }

  createService(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<Service> {
    const spec = { type: "LoadBalancer", selector: { app: name }, ports: [{ port: 80, protocol: "TCP" }] };
    const metadata = { name, namespace: "default", annotations };
    return this.cluster.api.create(services, { metadata, spec } as never);
  }

  /** Starts a manager with the Go manager's environment. Commands get the same flags and environment. */
  start(options: StartOptions = {}): KeptProcess {
    this.#options = options;
    const manager = this.cluster.manager({
      executable: this.#executable,
      ...defined({ kubeconfig: options.kubeconfig }),
      flags: [`--cert-dir=${this.#certificates}`, ...this.#flags(), ...(options.flags ?? [])],
      env: this.#environment(),
    });
    this.#managers.push(manager);
    return manager;
  }

  /** Starts a manager with another Lease, which works at the same time. */
  startSecond(): void {
    const flags = ["--leader-elect-resource-name=second", ...this.#flags(), "--secure-port=0"];
    const second = this.cluster.manager({ executable: this.#executable, flags, env: this.#environment() });
    this.#others.push(() => second.stop(20));
  }

  /** Lets another program take and renew the Lease. */
  async holdLease(holder: string): Promise<void> {
    const { leaseName, api } = this.cluster;
    const key = { namespace: "kube-system", name: leaseName };
    const now = (): string => new Date().toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: holder, leaseDurationSeconds: 15, acquireTime: now(), renewTime: now() };
    await api.create(leases, { metadata: key, spec } as never);
    const renewal = setInterval(() => {
      const contentType = "application/merge-patch+json";
      const patch = { contentType, body: { spec: { renewTime: now() } } } as const;
      api.patch(leases, key, patch).catch(() => undefined);
    }, 2000);
    this.#others.push(async () => clearInterval(renewal));
  }

  /** Simulates another client that exhausts the rate limit of the project, until `stopOthers`. */
  useUpRequests(): void {
    const { rateLimit } = this.cloud;
    const client = setInterval(() => rateLimit.drain(), 20);
    this.#others.push(async () => {
      clearInterval(client);
      rateLimit.drain(1000);
    });
  }

  /** Stops everything that works beside the manager. */
  async stopOthers(): Promise<void> {
    for (const stop of this.#others.splice(0)) await stop();
  }

  async stop(): Promise<void> {
    await this.#managers.at(-1)?.stop(20);
  }

  /** Waits until every Node is initialized and has its route, and every Service has a load balancer and no condition. */
  async settle(seconds = 120): Promise<void> {
    const { networks, balancers } = this.cloud.project;
    await this.cluster.until(
      "the cluster to settle",
      async () => {
        const nodes = await Promise.all(nodeNames.map((name) => this.cluster.node(name)));
        const items = await this.cluster.api.list(services);
        const wanted = items.filter(({ spec }) => spec.type === "LoadBalancer");
        return (
          nodes.every((node) => node?.spec.providerID !== undefined) &&
          networks.find("cluster")?.routes.length === nodeNames.length &&
          balancers.list().length === wanted.length &&
          balancers.list().every(({ targets }) => targets.length === nodeNames.length) &&
          wanted.every(
            ({ status: { loadBalancer, conditions = [] } }) =>
              (loadBalancer?.ingress?.length ?? 0) > 0 && conditions.length === 0,
          )
        );
      },
      { seconds, everyMs: 200 },
    );
  }

  /** Objects that must not be lost: load balancers, routes and Nodes. */
  async belongings(): Promise<readonly string[]> {
    const { networks, balancers } = this.cloud.project;
    const nodes = await Promise.all(nodeNames.map((name) => this.cluster.node(name)));
    return [
      ...balancers.list().map(({ id, name }) => `load balancer ${id} ${name}`),
      ...(networks.find("cluster")?.routes ?? []).map((route) => `route ${JSON.stringify(route)}`),
      ...nodes.map((node) => `Node ${node?.metadata.uid}`),
    ];
  }

  /** Begins the emergency: earlier lines of the log and earlier events are not part of it. */
  begin(): void {
    this.#logFrom = this.#log().length;
    this.#since = Date.now();
  }

  get elapsedSeconds(): number {
    return (Date.now() - this.#since) / 1000;
  }

  async look(surface: Surface): Promise<string> {
    const server = [
      `--server=https://localhost:${this.port}`,
      `--server-ca-file=${join(this.#certificates, "cloud-controller-manager-ca.crt")}`,
    ];
    switch (surface) {
      case "log":
        return this.#log().slice(this.#logFrom);
      case "events":
        return this.#events();
      case "explain":
        return this.#command(["explain", ...server]);
      case "offline":
        return this.#command(["explain"]);
      case "status":
        return this.#page("/status").then(text);
      case "doctor":
        return this.#command(["doctor"]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOthers();
    await this.cluster[Symbol.asyncDispose]();
    await this.#served[Symbol.asyncDispose]();
  }

  get #certificates(): string {
    return join(this.cluster.folder, "certificates");
  }

  #flags(): readonly string[] {
    return [
      ...["--cloud-provider=hcloud", "--cluster-cidr=10.244.0.0/16"],
      ...["--bind-address=127.0.0.1", `--secure-port=${this.port}`],
    ];
  }

  #environment(): Readonly<Record<string, string>> {
    return {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: `${this.#served.url}/v1`,
      HCLOUD_NETWORK: "cluster",
      HCLOUD_LOAD_BALANCERS_LOCATION: "fsn1",
      ...this.#options.env,
    };
  }

  #log(): string {
    return this.#managers.map((manager) => manager.output()).join("");
  }

  async #events(): Promise<string> {
    const items = await this.cluster.api.list(events);
    return items
      .map((event) => ({ ...event, at: Date.parse(event.lastTimestamp ?? event.eventTime ?? "") }))
      .filter(({ at }) => at >= this.#since - 1000)
      .toSorted((one, other) => one.at - other.at)
      .map(({ involvedObject: { kind, name } = {}, type, reason, message }) =>
        [type, reason, `${kind}/${name}`, message].join("  "),
      )
      .join("\n");
  }

  async #page(path: string): Promise<string> {
    try {
      const tls = { rejectUnauthorized: false, ...this.plane.issue("operator", ["system:masters"]) };
      return await (await fetch(`https://127.0.0.1:${this.port}${path}`, { keepalive: false, tls })).text();
    } catch (error) {
      return `no answer: ${String(error)}`;
    }
  }

  /** The operator is an administrator, whatever the identity of the manager. */
  async #command(words: readonly string[]): Promise<string> {
    const election = `--leader-elect-resource-name=${this.cluster.leaseName}`;
    const child = startProcess(
      [
        this.#executable,
        ...words,
        `--kubeconfig=${this.cluster.kubeconfig}`,
        election,
        ...this.#flags(),
        ...(this.#options.flags ?? []),
      ],
      { cwd: this.cluster.folder, env: this.#environment() },
    );
    await until(`${words[0]} to end`, () => child.exitCode() !== null, { seconds: 90 });
    await child.exited;
    return child.output();
  }
}
