// A whole manager on a simulated Rancher environment, in virtual time.

import { asTransport } from "#ccm/testing";
import { rancher } from "../../../providers/rancher/index.ts";
import { config, keys } from "../../../providers/rancher/simulator/harness.ts";
import { asSocket, RancherCloud } from "../../../providers/rancher/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { SocketRequest } from "../../../src/platform/socket.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

const nodes = resourceNamed("nodes");
export const prefix = "service.rancher.io/";

/** A Service with a port, and with annotations without their prefix. */
export const draft = (
  annotations: Readonly<Record<string, string>> = {},
  ports: readonly object[] = [{ port: 80, protocol: "TCP", nodePort: 30_080 }],
) => ({
  annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value])),
  spec: { ports: ports as never },
});

export interface RancherWorldOptions {
  /** The environment of another world, which this cluster shares. It uses the clock of the first world. */
  readonly cloud?: RancherCloud;
  readonly cluster?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export class RancherWorld {
  readonly world: ServiceWorld;
  readonly cloud: RancherCloud;
  readonly #config: Readonly<Record<string, string>>;
  readonly #cluster: string | undefined;
  /** Called before a socket is opened. */
  onSocket: (request: SocketRequest) => void = () => undefined;

  constructor(
    initialized = 0,
    own: Readonly<Record<string, string>> = {},
    options: RancherWorldOptions = {},
  ) {
    let { cloud } = options;
    this.#cluster = options.cluster;
    this.world = new ServiceWorld({
      nodes: 0,
      // The uids of two clusters differ.
      seed: options.cloud === undefined ? 1 : 2,
      provider: rancher,
      cloud: (clock) => {
        cloud ??= new RancherCloud({ clock, latency: milliseconds(20) });
        return asTransport(cloud);
      },
      socket: () => {
        const open = asSocket(this.cloud);
        return (request, signal) => {
          this.onSocket(request);
          return open(request, signal);
        };
      },
      ...(options.environment && { environment: options.environment }),
    });
    if (cloud === undefined) throw new Error("Expected a cloud.");
    this.cloud = cloud;
    this.cloud.addKey(keys.access, keys.secret);
    this.#config = own;
    for (let index = 0; index < initialized; index += 1) this.addNode(`node-${index}`);
  }

  start(controllers: string, ...flags: readonly string[]): Promise<void> {
    return this.world.start(...this.flags(controllers), ...flags);
  }

  flags(controllers: string, changed: Readonly<Record<string, string>> = {}): readonly string[] {
    const settings = Object.entries({ ...config, ...this.#config, ...changed }).map(
      ([name, value]) => `${name}=${value}`,
    );
    return [
      `--config-set=${settings.join(",")}`,
      `--controllers=${controllers}`,
      this.#cluster === undefined ? "--allow-untagged-cloud" : `--cluster-name=${this.#cluster}`,
    ];
  }

  /** An initialized Node with a new host. */
  addNode(name: string): void {
    const { uuid, ips } = this.cloud.environment.hosts.add(name);
    this.joinAs(name, uuid, ...ips);
  }

  /** An initialized Node of an existing host. */
  joinAs(name: string, uuid: string, ...ips: readonly string[]): void {
    const node = toNode({ name, uid: `uid-${name}`, spec: { providerID: `rancher://${uuid}` } });
    const addresses = [
      ...ips.map((address) => ({ type: "ExternalIP", address })),
      ...ips.map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: name },
    ];
    this.#put({ ...node, status: { ...node.status, addresses } } as Node);
  }

  /** A Node that joins and whose host exists. */
  join(name: string): void {
    this.#put(toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] } }));
  }

  node(name: string): Node | undefined {
    return this.world.server.store.get("nodes", undefined, name) as unknown as Node | undefined;
  }

  get uninitialized(): number {
    const all = this.world.server.store.list("nodes") as unknown as readonly Node[];
    return all.filter(({ spec }) => spec.providerID === undefined || (spec.taints ?? []).length > 0).length;
  }

  /** A Service whose load balancer is ready. */
  async created(given: ReturnType<typeof draft> = draft(), name = "web"): Promise<void> {
    this.world.create(name, given);
    await this.world.until(() => this.world.addressesOf(name).length > 0, "the address", 120);
    await this.world.pass(10);
  }

  get balancer() {
    const [balancer, ...others] = this.#services("loadBalancerService");
    if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
    return balancer;
  }

  /** A Service's load balancer, by the Go manager's name or by the mark. */
  balancerOf(name: string) {
    const { uid } = this.world.get(name).metadata;
    return this.balancers.find(
      (one) =>
        one.metadata["fairlead.dev/service-uid"] === uid ||
        one.name === `lb-a${uid.replaceAll("-", "")}`.slice(0, 35),
    );
  }

  get balancers() {
    return this.#services("loadBalancerService");
  }

  get externals() {
    return this.#services("externalService");
  }

  /** The rules in the form `80 -> node-0:30080 tcp`. */
  get rules(): readonly string[] {
    const { services } = this.cloud.environment;
    const rules = this.balancer.lbConfig?.portRules ?? [];
    return rules
      .map(({ sourcePort, targetPort, serviceId, protocol }) => {
        const to = serviceId === null ? "nothing" : services.get(serviceId)?.name;
        return `${sourcePort} -> ${to}:${targetPort} ${protocol}`;
      })
      .toSorted();
  }

  /** The changes since the last `forget`. */
  get changes(): readonly string[] {
    return this.cloud.seen.filter(({ mutates }) => mutates).map(({ operation }) => operation);
  }

  /** The names of load balancers that are reported as orphans. */
  get orphans(): readonly string[] {
    return this.world.manager.report().orphans.map(({ name = "" }) => name);
  }

  events(name = "web"): string {
    return this.world.events(name).join("\n");
  }

  forget(): void {
    this.world.forget();
    this.cloud.forget();
  }

  #services(type: string) {
    this.cloud.settle();
    return this.cloud.environment.services.list().filter((one) => one.type === type && one.removed === null);
  }

  #put(node: Node): void {
    this.world.server.store.put(nodes, node as unknown as KubeObject);
  }
}
