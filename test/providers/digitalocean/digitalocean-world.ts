// A whole manager on a simulated DigitalOcean account, in virtual time.

import { asTransport } from "#ccm/testing";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import {
  DigitalOceanCloud,
  type DigitalOceanOptions,
} from "../../../providers/digitalocean/simulator/index.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { defined } from "../../../src/core/defined.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import type { ServiceWorldOptions } from "../../support/service-world-options.ts";

export interface DigitalOceanWorldOptions extends Partial<Omit<DigitalOceanOptions, "clock">> {
  /** Nodes that are initialized, each with its droplet. */
  readonly nodes?: number;
  /** Settings of the provider. */
  readonly config?: Readonly<Record<string, string>>;
  /** The world whose account this one uses, for another cluster. */
  readonly cloudOf?: DigitalOceanWorld;
  /** Authorizes requests to the API server; allows all by default. */
  readonly authorize?: ServiceWorldOptions["authorize"];
}

export const token = "dop_v1_test";
export const prefix = "service.beta.kubernetes.io/do-loadbalancer-";
export const idAnnotation = "kubernetes.digitalocean.com/load-balancer-id";
export const tcpPort = (nodePort: number) => ({ port: 80, protocol: "TCP", nodePort });

const nodes = resourceNamed("nodes");

export class DigitalOceanWorld {
  readonly world: ServiceWorld;
  readonly cloud: DigitalOceanCloud;
  readonly #config: Readonly<Record<string, string>>;

  constructor({ nodes: count = 0, config = {}, authorize, ...options }: DigitalOceanWorldOptions = {}) {
    let cloud: DigitalOceanCloud | undefined;
    this.world = new ServiceWorld({
      nodes: 0,
      ...defined({ authorize }),
      provider: digitalocean,
      cloud: (clock) => {
        cloud = new DigitalOceanCloud({ clock, latency: milliseconds(20), ...options });
        return asTransport(cloud);
      },
    });
    if (cloud === undefined) throw new Error("Expected a cloud.");
    this.cloud = cloud;
    this.cloud.tokens.add(token);
    this.#config = config;
    for (let index = 0; index < count; index += 1) this.addNode(`node-${index}`);
  }

  start(controllers = "service", ...flags: readonly string[]): Promise<void> {
    const settings = Object.entries({ token, ...this.#config }).map(([name, value]) => `${name}=${value}`);
    return this.world.start(`--config-set=${settings.join(",")}`, `--controllers=${controllers}`, ...flags);
  }

  /** An initialized Node with a new droplet. */
  addNode(
    name: string,
    droplet: Parameters<DigitalOceanCloud["account"]["droplets"]["add"]>[1] = {},
  ): number {
    const { id } = this.cloud.account.droplets.add(name, droplet);
    this.#put(toNode({ name, uid: `uid-${name}`, spec: { providerID: `digitalocean://${id}` } }));
    return id;
  }

  /** A Node that joins, with a new droplet. */
  joinNode(name: string, droplet = name): void {
    this.cloud.account.droplets.add(droplet);
    this.#put(toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] } }));
  }

  nodes(): readonly Node[] {
    return this.world.server.store.list("nodes") as unknown as readonly Node[];
  }

  get uninitialized(): number {
    return this.nodes().filter(({ spec }) => spec.providerID === undefined || (spec.taints ?? []).length > 0)
      .length;
  }

  /** The requests that the cloud has received since the last `forget`: "POST /v2/load_balancers". */
  get requests(): readonly string[] {
    return this.cloud.seen.map(({ operation }) => operation);
  }

  get changes(): readonly string[] {
    return this.requests.filter((operation) => !operation.startsWith("GET "));
  }

  balancers() {
    return this.cloud.account.balancers.list();
  }

  /** Waits two minutes, after which load balancers are active. */
  async settle(): Promise<void> {
    await this.world.pass(120);
  }

  forget(): void {
    this.world.forget();
    this.cloud.forget();
  }

  #put(node: Node): void {
    this.world.server.store.put(nodes, node as unknown as KubeObject);
  }
}

export const quick = { times: { activation: seconds(1), change: seconds(0) } } as const;
