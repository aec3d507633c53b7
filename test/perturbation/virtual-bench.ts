// A whole manager of Fairlead in virtual time with a perturbed view: a cluster, a cloud, and a process that can be killed.

import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { describeNode, kubeletConditions } from "../../src/testing/apiserver/kubelet/kubelet-node.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { type State, stateOf } from "../differential/rig/compared-state.ts";
import { configurationFile } from "../simulation/configuration-file.ts";
import { Replica } from "../simulation/replica.ts";
import { Oracle } from "./oracle.ts";
import { PerturbedServer } from "./perturbed-server.ts";
import type { Bench } from "./play.ts";

const nodes = resourceNamed("nodes");
const services = resourceNamed("services");

export class VirtualBench implements Bench {
  readonly clock = new VirtualClock();
  readonly cloud = new FakeCloud({ clock: this.clock, latency: milliseconds(20) });
  readonly server: PerturbedServer;
  readonly oracle: Oracle;
  onWrite = (): void => undefined;
  readonly quietTicks = 20;
  readonly finalTicks = 60;
  readonly patienceTicks = 600;
  /** The last log lines. */
  readonly log: string[] = [];
  readonly serviceNames = new Map<string, string>();
  readonly allocated = new Map<string, string>();
  readonly calls = [];
  readonly clusterUID: string;
  readonly hasControllerManager = false;
  readonly #api: ApiServer;
  readonly #random = seededRandom(1);
  readonly #sendToCloud = cloudTransport(this.cloud);
  #replica: Replica | undefined;
  #starts = 0;

  constructor() {
    this.#api = new ApiServer({ clock: this.clock, random: seededRandom(2) });
    this.clusterUID = this.#api.store.get("namespaces", undefined, "kube-system")?.metadata.uid ?? "";
    this.oracle = new Oracle(this, () => this.onWrite());
    this.server = new PerturbedServer(this.oracle.watch(asTransport(this.#api)));
  }

  get isRunning(): boolean {
    return this.#replica !== undefined;
  }

  async start(): Promise<void> {
    this.#starts += 1;
    this.#replica = new Replica({
      name: `manager-${this.#starts}`,
      world: this.clock,
      random: this.#random,
      args: [
        "--master=http://test-api-server",
        "--cluster-cidr=10.244.0.0/16",
        "--leader-elect-retry-period=5s",
      ],
      configuration: configurationFile({}),
      provider: fake as AnyProvider,
      kube: () => this.server.transport,
      cloud: () => this.#sendToCloud,
      onSend: () => () => undefined,
      onError: (_, error) => {
        throw error;
      },
      write: (line) => this.log.push(line),
    });
    this.#replica.start();
  }

  kill(): void {
    this.#replica?.process.kill();
    this.#replica = undefined;
  }

  tick(): Promise<void> {
    return this.clock.advance(seconds(1));
  }

  state(): Promise<State> {
    return stateOf(this);
  }

  async nodes(): Promise<readonly Node[]> {
    return this.#api.store.list("nodes") as unknown as readonly Node[];
  }

  async services(): Promise<readonly Service[]> {
    const all = this.#api.store.list("services") as unknown as readonly Service[];
    return all.filter(({ metadata }) => metadata.name !== "kubernetes");
  }

  async events() {
    return [];
  }

  async node(name: string): Promise<Node | undefined> {
    return this.#api.store.get("nodes", undefined, name) as unknown as Node | undefined;
  }

  async service(name: string): Promise<Service | undefined> {
    return this.#api.store.get("services", "default", name) as unknown as Service | undefined;
  }

  async join(name: string, { spec }: { readonly spec: object }): Promise<void> {
    const draft = describeNode({ name }, `uuid-${name}`, this.clock.now());
    const conditions = kubeletConditions(true, this.clock.now(), this.clock.now());
    this.#api.objects.create(nodes, "", {
      ...draft,
      spec: { ...(draft["spec"] as JsonObject), ...spec },
      status: { ...(draft["status"] as JsonObject), conditions },
    });
  }

  async ready(name: string, isReady: boolean): Promise<void> {
    const conditions = kubeletConditions(isReady, this.clock.now(), this.clock.now());
    this.#edit(nodes, "", name, "status", (node) => ({
      ...node,
      status: { ...(node["status"] as JsonObject), conditions },
    }));
  }

  async deleteNode(name: string): Promise<void> {
    this.#api.objects.delete(nodes, "", name);
  }

  async createService(name: string, spec: object = {}): Promise<void> {
    const draft = {
      metadata: { name, namespace: "default" },
      spec: { type: "LoadBalancer", selector: {}, ...spec },
    };
    const { metadata } = this.#api.objects.create(services, "default", draft as JsonObject);
    this.serviceNames.set(metadata.uid, name);
  }

  async editService(name: string, { spec = {} }: { readonly spec?: object }): Promise<void> {
    this.#edit(services, "default", name, "", (service) => ({
      ...service,
      spec: { ...(service["spec"] as JsonObject), ...spec },
    }));
  }

  async deleteService(name: string): Promise<void> {
    this.#api.objects.delete(services, "default", name);
  }

  #edit(
    resource: typeof nodes,
    namespace: string,
    name: string,
    subresource: string,
    change: (object: JsonObject) => JsonObject,
  ): void {
    this.#api.objects.patch(resource, namespace, name, subresource, (now) =>
      change(now as unknown as JsonObject),
    );
  }
}
