// A manager with a test API server and a cloud, in virtual time and from one seed, for end-to-end tests of Services.
// Its process can crash at any request; the next process starts with nothing but the stored state.

import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../src/app/manager/manager.ts";
import { type Milliseconds, milliseconds, seconds } from "../../src/core/brand.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import { sleep } from "../../src/platform/clock.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ProcessClock, SimulatedProcess } from "../simulation/simulated-process.ts";
import { toNode } from "./api-server-nodes.ts";
import { followEvents } from "./events-in-order.ts";
import { never, noFiles, type RunningManager, through } from "./running-manager.ts";
import type { Crossing, ServiceDraft, ServiceWorldOptions } from "./service-world-options.ts";

export const lbFinalizer = "service.kubernetes.io/load-balancer-cleanup";

const stored = { services: resourceNamed("services"), nodes: resourceNamed("nodes") };

/** The record of the API server about a renewal of a Lease. */
export const renewedFields = { "f:spec": { "f:renewTime": {} } } as const;

/** The signal of delayed requests: a crash does not cancel a request that was sent. */
const { signal: immortal } = new AbortController();

export class ServiceWorld {
  readonly clock: VirtualClock;
  readonly server: ApiServer;
  readonly cloud: FakeCloud;
  /** Every request about load balancers that reached the cloud, in order: "POST /balancers". */
  readonly asked: string[] = [];
  /** Every manager write to a Service or Node: "PATCH /api/v1/namespaces/default/services/web/status". */
  readonly written: string[] = [];
  /** Paths that a manager has read. */
  readonly read: string[] = [];
  readonly logged: string[] = [];
  /** Errors of processes that ended unexpectedly. */
  readonly unexpectedErrors: unknown[] = [];
  onCrossing: Crossing | undefined;
  /** Delays a request to the cloud, which arrives even if its process has crashed meanwhile; undefined passes it on immediately. */
  lateness: ((what: string) => Milliseconds | undefined) | undefined;
  /** Replaces the response to a read, including lists and watches; undefined passes it on. */
  readFault: ((path: string, query: URLSearchParams) => Response | undefined) | undefined;
  /** Replaces the API server's response; undefined passes the request on. */
  kubeFault:
    | ((method: string, path: string, request: TransportRequest) => Response | Error | undefined)
    | undefined;
  readonly #options: ServiceWorldOptions;
  readonly #cloudTransport: Transport;
  readonly #events: ReturnType<typeof followEvents>;
  #running: RunningManager | undefined;
  #starts: number;

  constructor(options: ServiceWorldOptions = {}) {
    const { seed = 1, nodes = 3, latency = 20, actionTime = 0 } = options;
    const { beside } = options;
    const clock = beside?.world.clock ?? new VirtualClock();
    this.clock = clock;
    this.#options = options;
    // The clocks of processes must differ.
    this.#starts = beside === undefined ? 0 : 1000;
    this.server =
      beside?.world.server ??
      new ApiServer({
        clock,
        random: seededRandom(seed ^ 0x5eed),
        ...(options.authorize !== undefined && { options: { authorize: options.authorize } }),
      });
    this.#events = followEvents(this.server);
    const ownCloud = () =>
      new FakeCloud({ clock, latency: milliseconds(latency), actionTime: milliseconds(actionTime) });
    this.cloud = beside?.account === "same" ? beside.world.cloud : ownCloud();
    this.#cloudTransport = options.cloud?.(clock) ?? cloudTransport(this.cloud);
    for (let index = 0; index < nodes; index += 1) {
      if (beside === undefined) this.addNode(`node-${index}`);
      else if (beside.account === "other") this.cloud.machines.add(`node-${index}`);
    }
  }

  get manager(): Manager {
    if (this.#running === undefined) throw new Error("No manager runs.");
    return this.#running.manager;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async start(...flags: readonly string[]): Promise<void> {
    const { clock } = this;
    this.#starts += 1;
    const life = new SimulatedProcess(clock);
    const cut = new AbortController();
    const stop = new AbortController();
    const own = new ProcessClock(clock, life, this.#starts * 1_000_000);
    const isWatch = (path: string) =>
      !/\/(services|nodes|persistentvolumeclaims|volumeattachments)\/|\/(persistentvolumes|volumesnapshot)/.test(
        path,
      );
    const kube = asTransport(this.server);
    const read = readFlags([
      "--master=http://test-api-server",
      "--leader-elect=false",
      // Otherwise, Lease renewals would be most of the work in an hour of virtual time.
      "--leader-elect-retry-period=5s",
      `--controllers=${this.#options.controllers ?? "service"}`,
      ...flags,
    ]);
    const manager = await createManager(
      {
        provider: (this.#options.provider ?? fake) as AnyProvider,
        settings: { ...read, cloud: { ...read.cloud, file: this.#options.cloudFile ?? {} } },
        log: createLog({ format: "text", verbosity: 0, clock: own, write: (line) => this.logged.push(line) }),
        platform: {
          clock: own,
          random: seededRandom((this.#options.seed ?? 1) * 1000 + this.#starts),
          files: noFiles,
          transport: through(life, cut.signal, async (request, signal) => {
            const { pathname, searchParams } = new URL(request.url);
            if (request.method === "GET") this.read.push(pathname);
            const refusal = request.method === "GET" ? this.readFault?.(pathname, searchParams) : undefined;
            if (refusal !== undefined) return refusal;
            if (request.method === "GET" || isWatch(pathname)) return kube(request, signal);
            this.onCrossing?.(`${request.method} ${pathname}`, "before");
            if (life.isDead) return never(signal);
            const fault = this.kubeFault?.(request.method, pathname, request);
            if (fault instanceof Error) throw fault;
            if (fault !== undefined) return fault;
            this.written.push(`${request.method} ${pathname}`);
            const answer = await kube(request, signal);
            this.onCrossing?.(`${request.method} ${pathname}`, "after");
            return answer;
          }),
          cloudTransport: through(life, cut.signal, async (request, signal) => {
            const { pathname } = new URL(request.url);
            const what = `${request.method} ${pathname.replace(/^\/v1/, "")}`;
            this.onCrossing?.(what, "before");
            if (life.isDead) return never(signal);
            if (!what.includes("/machines")) this.asked.push(what);
            const delay = this.lateness?.(what);
            if (delay !== undefined) await sleep(clock, delay, immortal);
            const answer = await this.#cloudTransport(request, delay === undefined ? signal : immortal);
            this.onCrossing?.(what, "after");
            return answer;
          }),
          ...(this.#options.socket && { cloudSocket: this.#options.socket() }),
          environment: { HOSTNAME: `replica-${this.#starts}`, ...this.#options.environment },
        } as Parameters<typeof createManager>[0]["platform"],
      },
      stop.signal,
    );
    const done = manager.run().catch((error: unknown) => {
      if (!life.isDead && !stop.signal.aborted) this.unexpectedErrors.push(error);
    });
    this.#running = { life, cut, stop, done, manager };
  }

  /** Delays the next request that changes the cloud, for example until its process has crashed. */
  delayNextChange(delay: Milliseconds): void {
    this.lateness = (what) => {
      if (what.startsWith("GET ") || what.endsWith("/tokens")) return undefined;
      this.lateness = undefined;
      return delay;
    };
  }

  /** Crashes the process like SIGKILL: its pending calls never return. */
  crash(): void {
    this.#running?.life.kill();
    this.#running?.cut.abort(new Error("The process is dead."));
    this.#running = undefined;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stop.abort(new Error("The process was asked to stop."));
    await this.clock.advance(seconds(2));
    await running?.done;
  }

  async pass(time: number): Promise<void> {
    await this.clock.advance(seconds(time));
  }

  async until(condition: () => boolean, what: string, within = 120): Promise<void> {
    await this.clock.until(condition, seconds(within), what);
  }

  /** Clears the recorded requests. */
  forget(): void {
    this.asked.length = 0;
    this.written.length = 0;
    this.read.length = 0;
    this.cloud.seen.length = 0;
  }

  /** Requests that would have changed the cloud. */
  get changes(): readonly string[] {
    return this.asked.filter((what) => !what.startsWith("GET "));
  }

  addNode(name: string): void {
    const id = this.#options.providerIDOf?.(name) ?? `fake://${this.cloud.machines.add(name).id}`;
    const node = toNode({ name, uid: `uid-${name}-${this.clock.monotonic()}`, spec: { providerID: id } });
    this.server.store.put(stored.nodes, node as unknown as KubeObject);
  }

  changeNode(name: string, change: (node: Node) => Node): void {
    const node = this.server.store.get("nodes", undefined, name);
    if (node === undefined) throw new Error(`There is no node ${name}.`);
    this.server.store.put(stored.nodes, change(node as unknown as Node) as unknown as KubeObject);
  }

  setReady(name: string, status: "True" | "False" | "Unknown"): void {
    this.changeNode(name, (node) => ({ ...node, status: { conditions: [{ type: "Ready", status }] } }));
  }

  removeNode(name: string): void {
    const node = this.server.store.get("nodes", undefined, name);
    if (node !== undefined) this.server.store.remove(stored.nodes, node);
  }

  create(name: string, { spec, ...metadata }: ServiceDraft = {}): Service {
    const draft = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "default", ...metadata },
      spec: {
        type: "LoadBalancer",
        ports: [{ port: 80, protocol: "TCP" }],
        selector: { app: name },
        ...spec,
      },
    };
    return this.server.objects.create(stored.services, "default", draft as JsonObject) as unknown as Service;
  }

  find(name: string): Service | undefined {
    return this.server.store.get("services", "default", name) as unknown as Service | undefined;
  }

  get(name: string): Service {
    const service = this.find(name);
    if (service === undefined) throw new Error(`There is no Service ${name}.`);
    return service;
  }

  edit(name: string, change: (service: Service) => Service, subresource = ""): void {
    this.server.objects.patch(
      stored.services,
      "default",
      name,
      subresource,
      (now) => change(now as unknown as Service) as unknown as JsonObject,
    );
  }

  editSpec(name: string, spec: JsonObject): void {
    this.edit(name, (service) => ({ ...service, spec: { ...service.spec, ...spec } }));
  }

  annotate(name: string, annotations: Readonly<Record<string, string | undefined>>): void {
    this.edit(name, ({ metadata, ...rest }) => {
      const all = Object.entries({ ...metadata.annotations, ...annotations });
      const kept = Object.fromEntries(
        all.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
      );
      return { ...rest, metadata: { ...metadata, annotations: kept } };
    });
  }

  delete(name: string): void {
    this.server.objects.delete(stored.services, "default", name);
  }

  addressesOf(name: string): readonly string[] {
    return (this.find(name)?.status.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? "");
  }

  conditionsOf(name: string) {
    return this.find(name)?.status.conditions ?? [];
  }

  /** For example "Warning SyncLoadBalancerFailed …", as stored in the API server; a repeated event appears once. */
  events(name: string): readonly string[] {
    return this.#events("default").flatMap((event) => {
      const about = event["involvedObject"] as { readonly name?: string } | undefined;
      return about?.name === name ? [`${event["type"]} ${event["reason"]} ${event["message"]}`] : [];
    });
  }

  annotateLease(annotations: Readonly<Record<string, string>>): void {
    const lease = this.server.store.get("leases", "kube-system", "cloud-controller-manager");
    if (lease === undefined) throw new Error("There is no lease.");
    const metadata = { ...lease.metadata, annotations: { ...lease.metadata.annotations, ...annotations } };
    this.server.store.put(resourceNamed("leases"), { ...lease, metadata });
  }

  deleteLease(): void {
    const lease = this.server.store.get("leases", "kube-system", "cloud-controller-manager");
    if (lease !== undefined) this.server.store.remove(resourceNamed("leases"), lease);
  }

  /** Makes another identity hold the Lease; an empty name releases the Lease. */
  holdLease(holderIdentity: string, program?: string): void {
    const lease = this.server.store.get("leases", "kube-system", "cloud-controller-manager");
    if (lease === undefined) throw new Error("There is no lease.");
    const renewTime = new Date(this.clock.now()).toISOString().replace("Z", "000Z");
    const spec = { ...lease.spec, holderIdentity, renewTime, acquireTime: renewTime };
    const managedFields = program === undefined ? [] : [{ manager: program, fieldsV1: renewedFields }];
    this.server.store.put(resourceNamed("leases"), {
      ...lease,
      metadata: { ...lease.metadata, managedFields },
      spec,
    });
  }

  /** Owners of marked load balancers, sorted. */
  owners(): readonly string[] {
    return this.cloud.balancers
      .list()
      .map(({ labels }) => labels["owner-uid"] ?? "")
      .toSorted();
  }

  /** The expected value of `owners`: the uid of each Service that needs a load balancer. */
  wanted(): readonly string[] {
    return this.services()
      .filter(({ spec }) => spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined)
      .map(({ metadata }) => metadata.uid)
      .toSorted();
  }

  services(): readonly Service[] {
    const all = this.server.store.list("services") as unknown as readonly Service[];
    return all.filter(({ metadata }) => metadata.name !== "kubernetes");
  }
}
