// One side of a comparison: a control plane, a simulated cloud, and the tested manager. Users, kubelets and the cloud act
// through it.

import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { type ServedCloud, serveFakeCloud } from "../../../providers/fake/simulator/http.ts";
import type { SimulatedMachine } from "../../../providers/fake/simulator/machines.ts";
import type { Event, Node, Service } from "../../../src/kube/objects.ts";
import { events, namespaces, nodes, services } from "../../../src/kube/resources.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { cleanSlate } from "../../cluster/rig/clean-slate.ts";
import { type KeptProcess, startProcess } from "../../cluster/rig/kept-process.ts";
import { createKubectl, type Kubectl } from "../../cluster/rig/kubectl.ts";
import { kubeletNode, readyCondition } from "../../cluster/rig/kubelet-objects.ts";
import { until } from "../../cluster/rig/until.ts";
import { OfficialClient, orUndefined } from "../../support/official-client.ts";
import { type CloudCall, recordCalls } from "./cloud-calls.ts";
import { type State, stateOf } from "./compared-state.ts";
import type { Manager } from "./managers.ts";
import type { Plane } from "./planes.ts";

const namespace = "default";
const mergePatch = "application/merge-patch+json";

export interface NodeChanges {
  readonly spec?: Partial<Node["spec"]>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly isReady?: boolean;
}

export class World implements AsyncDisposable {
  readonly plane: Plane;
  readonly api: OfficialClient;
  readonly kubectl: Kubectl;
  /** The uid of the namespace kube-system. */
  readonly clusterUID: string;
  /** Names of Services by uid, including deleted ones. */
  readonly serviceNames = new Map<string, string>();
  /** The meanings of allocated pod ranges and node ports, including those of deleted objects. */
  readonly allocated = new Map<string, string>();
  cloud!: FakeCloud;
  calls: readonly CloudCall[] = [];
  #served: ServedCloud | undefined;
  #manager: KeptProcess | undefined;
  #beside: KeptProcess | undefined;
  #controllerManager: KeptProcess | undefined;
  #last: Manager | undefined;
  #log = "";

  protected constructor(plane: Plane, api: OfficialClient, clusterUID: string) {
    this.clusterUID = clusterUID;
    this.plane = plane;
    this.api = api;
    this.kubectl = createKubectl(plane.kubeconfig, dirname(plane.audit));
  }

  static async open(plane: Plane): Promise<World> {
    const api = OfficialClient.open(plane.kubeconfig);
    const { metadata } = await api.get(namespaces, { name: "kube-system" });
    return new World(plane, api, metadata.uid);
  }

  /** Removes what an earlier scenario left in Kubernetes and in the cloud. */
  async reset(): Promise<void> {
    await this.stop();
    await cleanSlate(this.api);
    const left = await this.events();
    await Promise.all(left.map(({ metadata }) => orUndefined(this.api.delete(events, metadata))));
    await this.#served?.[Symbol.asyncDispose]();
    this.cloud = new FakeCloud({ clock: systemClock });
    this.calls = recordCalls(this.cloud);
    this.#served = serveFakeCloud(this.cloud, 0);
    this.serviceNames.clear();
    this.allocated.clear();
  }

  /** Resolves when the manager has sent its first cloud request. Starts the last manager by default. */
  async start(chosen = this.#last): Promise<void> {
    if (chosen === undefined) throw new Error("No manager was started before.");
    this.#last = chosen;
    this.#manager = this.#launch(chosen, "fake");
    await this.#untilStarted(this.#manager, chosen);
  }

  /** Starts a second manager in the same account. The cloud identifies it by its token. */
  async startBeside(manager: Manager, token: string): Promise<void> {
    this.#beside = this.#launch(manager, token);
    await this.#untilStarted(this.#beside, manager);
  }

  #launch({ command, flags }: Manager, token: string): KeptProcess {
    this.cloud.forget();
    const all = [`--kubeconfig=${this.plane.kubeconfig}`, ...flags];
    return startProcess(["sh", "-c", `exec ${command} "$@"`, "sh", ...all], {
      env: { FAKE_ENDPOINT: this.#served?.url ?? "", FAKE_TOKEN: token },
    });
  }

  async #untilStarted(process: KeptProcess, { command }: Manager): Promise<void> {
    await until(`a request of ${command} to the cloud`, () => this.cloud.seen.length > 0, {
      explain: () => process.output().slice(-4000),
    });
  }

  async stop(): Promise<void> {
    await Promise.all([this.#manager?.stop(120), this.#beside?.stop(120)]);
    this.#log = this.log();
    this.#manager = undefined;
    this.#beside = undefined;
  }

  get isRunning(): boolean {
    return this.#manager !== undefined;
  }

  /** Kills the manager, as SIGKILL does: a response in flight does not arrive. */
  kill(): void {
    this.#manager?.signal("SIGKILL");
    this.#manager = undefined;
  }

  state(): Promise<State> {
    return stateOf(this);
  }

  /** The last output of the most recently started manager. */
  log(): string {
    const running = [this.#manager, this.#beside].flatMap((one) => one?.output().slice(-20_000) ?? []);
    return running.length === 0 ? this.#log : running.join("\n");
  }

  machine(name: string, changes: Partial<SimulatedMachine> = {}): SimulatedMachine {
    return this.cloud.machines.add(name, changes);
  }

  /** Registers a Node like a kubelet with an external cloud provider. */
  async join(name: string, { spec, labels, annotations, isReady }: NodeChanges = {}): Promise<void> {
    const draft = kubeletNode(name, spec, isReady);
    const metadata = {
      ...draft.metadata,
      labels: { ...draft.metadata.labels, ...labels },
      annotations: { ...draft.metadata.annotations, ...annotations },
    };
    await this.api.create(nodes, { ...draft, metadata });
  }

  async ready(name: string, isReady: boolean): Promise<void> {
    await this.api.patch(nodes, { name }, readyCondition(isReady));
  }

  async editNode(name: string, body: object): Promise<void> {
    await this.api.patch(nodes, { name }, { contentType: mergePatch, body });
  }

  async editNodeStatus(name: string, body: object): Promise<void> {
    await this.api.patch(nodes, { name }, { contentType: mergePatch, body, subresource: "status" });
  }

  async deleteNode(name: string): Promise<void> {
    await this.api.delete(nodes, { name });
  }

  node(name: string): Promise<Node | undefined> {
    return orUndefined(this.api.get(nodes, { name }));
  }

  /** `spec` is added to that of a load balancer with one port. */
  async createService(name: string, spec: object = {}, metadata: object = {}): Promise<void> {
    const ports = [{ name: "web", port: 80, targetPort: 8080 }];
    const draft = {
      metadata: { name, namespace, ...metadata },
      spec: { type: "LoadBalancer", selector: { app: name }, ports, ...spec },
      status: {},
    };
    this.serviceNames.set((await this.api.create(services, draft)).metadata.uid, name);
  }

  async editService(name: string, body: object): Promise<void> {
    await this.api.patch(services, { namespace, name }, { contentType: mergePatch, body });
  }

  async editServiceStatus(name: string, body: object): Promise<void> {
    const patch = { contentType: mergePatch, body, subresource: "status" } as const;
    await this.api.patch(services, { namespace, name }, patch);
  }

  async deleteService(name: string): Promise<void> {
    await this.api.delete(services, { namespace, name });
  }

  service(name: string): Promise<Service | undefined> {
    return orUndefined(this.api.get(services, { namespace, name }));
  }

  async nodes(): Promise<readonly Node[]> {
    return await this.api.list(nodes);
  }

  /** The Services in all namespaces. */
  async services(): Promise<readonly Service[]> {
    const items = await this.api.list(services);
    return items.filter(({ metadata }) => metadata.name !== "kubernetes");
  }

  async events(): Promise<readonly Event[]> {
    return await this.api.list(events);
  }

  /** Writes a file, and returns its path. */
  file(name: string, content: string): string {
    const path = join(dirname(this.plane.audit), name);
    writeFileSync(path, content);
    return path;
  }

  get hasControllerManager(): boolean {
    return this.#controllerManager !== undefined;
  }

  /** Starts kube-controller-manager like a cluster with an external cloud provider. */
  startControllerManager(): void {
    this.#controllerManager = startProcess([
      join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kube-controller-manager"),
      `--kubeconfig=${this.plane.kubeconfig}`,
      ...["--cloud-provider=external", "--leader-elect=false", "--secure-port=0"],
      ...["--kube-api-qps=1000", "--kube-api-burst=2000"],
      ...[
        "--allocate-node-cidrs=true",
        "--cluster-cidr=10.244.0.0/16",
        "--service-cluster-ip-range=10.0.0.0/16",
      ],
      // There are no kubelets; steps change the Ready condition.
      "--node-monitor-grace-period=1h",
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#controllerManager?.stop();
    await this.#served?.[Symbol.asyncDispose]();
  }
}
