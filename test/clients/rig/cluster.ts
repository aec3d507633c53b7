// A test API server and managers of one cloud, which reach the cloud over HTTP in real time.

import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { createManager, type Manager } from "../../../src/app/manager/manager.ts";
import { systemPlatform } from "../../../src/app/system-platform.ts";
import type { Node, Service } from "../../../src/kube/objects.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { systemTransport, type TransportRequest } from "../../../src/platform/transport.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { until } from "../../cluster/rig/until.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";

const stored = { services: resourceNamed("services"), nodes: resourceNamed("nodes") };

export type Annotations = Readonly<Record<string, string>>;
export type Ports = readonly {
  readonly port: number;
  readonly nodePort: number;
  readonly protocol?: string;
}[];

export interface ClusterOptions {
  readonly provider: AnyProvider;
  /** The prefix of annotations whose names contain no slash. */
  readonly prefix: string;
  /** The URL of a request without ids, or another description of its purpose. */
  readonly pathOf: (url: URL, body: TransportRequest["body"]) => string;
  readonly flags: readonly string[];
}

export class Cluster {
  readonly server = new ApiServer({ clock: systemClock, random: systemRandom });
  /** Requests of managers to the cloud, in order: "POST /load_balancers/{id}/actions/add_target". */
  readonly sent: string[] = [];
  /** Responses that report an error, with their text. */
  readonly refusals: string[] = [];
  readonly logged: string[] = [];
  /** The headers of the last request to the cloud. */
  lastHeaders: Readonly<Record<string, string>> = {};
  readonly #options: ClusterOptions;
  #running:
    | { readonly manager: Manager; readonly stop: AbortController; readonly done: Promise<void> }
    | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  /** `config`: the provider's settings. `further`: flags of this manager only. */
  async start(config: Readonly<Record<string, string>>, ...further: readonly string[]): Promise<void> {
    const { provider, pathOf, flags } = this.#options;
    const stop = new AbortController();
    const args = [
      ...Object.entries(config).map(([name, value]) => `--config-set=${name}=${value}`),
      "--master=http://test-api-server",
      "--leader-elect=false",
      ...flags,
      ...further,
    ];
    const system = systemPlatform({});
    const { settings } = await readConfiguration({ provider, args, environment: {}, files: system.files });
    const log = createLog({
      format: "text",
      verbosity: 0,
      clock: systemClock,
      write: (line) => this.logged.push(line),
    });
    const platform: Parameters<typeof createManager>[0]["platform"] = {
      ...system,
      transport: asTransport(this.server),
      cloudTransport: async (request, signal) => {
        const path = pathOf(new URL(request.url), request.body);
        this.sent.push(`${request.method} ${path}`);
        this.lastHeaders = request.headers ?? {};
        const response = await systemTransport(request, signal);
        if (!response.ok)
          this.refusals.push(
            `${request.method} ${path}: ${response.status} ${await response.clone().text()}`,
          );
        return response;
      },
    };
    const manager = await createManager({ provider, settings, platform, log }, stop.signal);
    this.#running = { manager, stop, done: manager.run() };
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stop.abort(new Error("The scenario stops it."));
    await running?.done;
  }

  /** Long enough for two listings, 30 s apart, that prove the absence of a load balancer which one of them did not show. */
  until<T>(what: string, probe: Parameters<typeof until<T>>[1], seconds = 50): Promise<T> {
    const explain = () => [...this.refusals.slice(-5), ...this.logged.slice(-10)].join("\n");
    return until(what, probe, { seconds, everyMs: 50, explain });
  }

  joinNode(name: string, podCIDR: string): void {
    const spec = { taints: [uninitialized], podCIDR, podCIDRs: [podCIDR] };
    this.#put(toNode({ name, uid: `uid-${name}`, spec }, systemClock.now()));
  }

  /** Excludes a Node from load balancers. */
  exclude(name: string): void {
    const node = this.node(name);
    if (node === undefined) throw new Error(`There is no Node ${name}.`);
    const label = "node.kubernetes.io/exclude-from-external-load-balancers";
    const labels = { ...node.metadata.labels, [label]: "" };
    this.#put({ ...node, metadata: { ...node.metadata, labels } });
  }

  /** The kubelet of the Node stops reporting. */
  loseNode(name: string): void {
    const node = this.node(name);
    if (node === undefined) throw new Error(`There is no Node ${name}.`);
    const conditions = [{ type: "Ready", status: "Unknown" }];
    this.#put({ ...node, status: { ...node.status, conditions } } as Node);
  }

  /** The number of requests that managers sent to this path. */
  count(path: string): number {
    return this.sent.filter((one) => one.endsWith(` ${path}`)).length;
  }

  deleteNode(name: string): void {
    this.server.objects.delete(stored.nodes, "", name);
  }

  node(name: string): Node | undefined {
    return this.server.store.get("nodes", undefined, name) as unknown as Node | undefined;
  }

  create(name: string, annotations: Annotations, ports: Ports): string {
    const draft = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "default", annotations: this.#prefixed(annotations) },
      spec: { type: "LoadBalancer", selector: { app: name }, ports: this.#ports(ports) },
    };
    return this.server.objects.create(stored.services, "default", draft as unknown as JsonObject).metadata
      .uid;
  }

  /** Replaces the annotations and, if given, the ports. */
  change(name: string, annotations: Annotations, ports?: Ports): void {
    const spec = ports && { ports: this.#ports(ports) };
    this.server.objects.patch(stored.services, "default", name, "", ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...(metadata as JsonObject), annotations: this.#prefixed(annotations) },
      spec: { ...(rest["spec"] as JsonObject), ...(spec as JsonObject | undefined) },
    }));
  }

  /** Adds annotations. */
  annotate(name: string, annotations: Annotations): void {
    this.server.objects.patch(stored.services, "default", name, "", ({ metadata, ...rest }) => {
      const all = metadata as JsonObject;
      const next = { ...(all["annotations"] as JsonObject | undefined), ...this.#prefixed(annotations) };
      return { ...rest, metadata: { ...all, annotations: next } };
    });
  }

  delete(name: string): void {
    this.server.objects.delete(stored.services, "default", name);
  }

  services(): readonly Service[] {
    const all = this.server.store.list("services") as unknown as readonly Service[];
    return all.filter(({ metadata }) => metadata.name !== "kubernetes");
  }

  /** The manager's events about a Service, for example "Warning SyncLoadBalancerFailed …". */
  events(name: string): string {
    const all = this.server.store.list("events").filter((event) => {
      const about = event["involvedObject"] as { readonly name?: string } | undefined;
      return about?.name === name;
    });
    return all.map((event) => `${event["type"]} ${event["reason"]} ${event["message"]}`).join("\n");
  }

  addressesOf(name: string): readonly string[] {
    const found = this.services().find(({ metadata }) => metadata.name === name);
    return (found?.status.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? "");
  }

  #prefixed(annotations: Annotations): Annotations {
    const named = (name: string) => (name.includes("/") ? name : this.#options.prefix + name);
    return Object.fromEntries(Object.entries(annotations).map(([name, value]) => [named(name), value]));
  }

  #ports(ports: Ports): readonly object[] {
    return ports.map(({ port, nodePort, protocol = "TCP" }) => ({
      name: `p${port}`,
      port,
      nodePort,
      protocol,
    }));
  }

  #put(node: Node): void {
    this.server.store.put(stored.nodes, node as unknown as KubeObject);
  }
}
