// A whole manager for load balancers on a simulated account of AWS, in virtual time.

import { asTransport } from "#ccm/testing";
import { aws } from "../../../providers/aws/index.ts";
import { prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import { clusterCloud, config } from "../../../providers/aws/simulator/harness.ts";
import type { AwsCloud } from "../../../providers/aws/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import { owned } from "./aws-lab.ts";

export { owned };
export const network = { type: "nlb" };

export const tcpPort = (port: number, nodePort = 30_000 + port, protocol = "TCP") => ({
  name: `p${port}-${protocol.toLowerCase()}`,
  port,
  protocol,
  nodePort,
});

/** A Service; annotations without a slash get the prefix of AWS. */
export const draft = (
  annotations: Readonly<Record<string, string>> = {},
  ports: readonly object[] = [tcpPort(80)],
  spec: object = {},
) => ({
  annotations: Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => [name.includes("/") ? name : prefix + name, value]),
  ),
  spec: { ports: ports as never, ...spec },
});

export interface BalancerWorldOptions {
  readonly nodes?: number;
  readonly settings?: Readonly<Record<string, string>>;
}

export class BalancerWorld {
  readonly world: ServiceWorld;
  readonly cloud: AwsCloud;
  /** The security group of the Nodes. */
  readonly group: string;
  readonly #settings: Readonly<Record<string, string>>;

  constructor({ nodes = 2, settings = {} }: BalancerWorldOptions = {}) {
    let cloud: AwsCloud | undefined;
    this.world = new ServiceWorld({
      nodes: 0,
      provider: aws,
      cloud: (clock) => {
        cloud = clusterCloud({ clock, latency: milliseconds(20) });
        return asTransport(cloud);
      },
    });
    if (cloud === undefined) throw new Error("Expected a cloud.");
    this.cloud = cloud;
    this.group = this.addGroup("nodes", owned);
    this.#settings = { ...config, ...settings };
    for (let index = 0; index < nodes; index += 1) this.addNode(`node-${index}`);
  }

  async start(...flags: readonly string[]): Promise<void> {
    const all = Object.entries(this.#settings).map(([name, value]) => `--config-set=${name}=${value}`);
    await this.world.start(...all, "--controllers=service", "--cluster-name=prod", ...flags);
  }

  addGroup(name: string, tags: Readonly<Record<string, string>> = {}): string {
    const { account } = this.cloud;
    const id = account.id("sg");
    account.groups.put({ id, name, tags, vpc: account.vpc, description: name, rules: [] });
    return id;
  }

  addNode(name: string, groups: readonly string[] = [this.group]): string {
    const { id, zone } = this.cloud.account.add(name, { tags: owned, groups });
    const node = toNode({ name, uid: `uid-${name}`, spec: { providerID: `aws:///${zone}/${id}` } });
    const status = { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.4" }] };
    this.world.server.store.put(resourceNamed("nodes"), { ...node, status } as Node as unknown as KubeObject);
    return id;
  }

  /** The rules of a security group as text. */
  rules(id = this.group): readonly string[] {
    return this.cloud.account.groups
      .existing(id)
      .rules.map(({ ipProtocol, fromPort, toPort, peer, description }) =>
        [ipProtocol, fromPort, toPort, peer, description].filter((part) => part !== undefined).join(" "),
      )
      .toSorted();
  }

  groupNamed(name: string) {
    return this.cloud.account.groups.list().find((one) => one.name === name);
  }

  /** Mutating requests. */
  get changes(): readonly string[] {
    return this.cloud.seen.flatMap(({ mutates, operation }) =>
      mutates ? [operation.split(":")[1] ?? ""] : [],
    );
  }

  /** The message of the Service's condition, and the Service's events. */
  said(name = "web"): string {
    const { status } = this.world.get(name);
    return [...this.world.events(name), JSON.stringify(status)].join("\n");
  }

  nameOf(name = "web"): string {
    return `a${this.world.get(name).metadata.uid.replaceAll("-", "")}`.slice(0, 32);
  }

  hostname(name = "web"): string | undefined {
    return this.world.get(name).status.loadBalancer?.ingress?.[0]?.hostname;
  }

  async settle(seconds = 90): Promise<void> {
    await this.world.pass(seconds);
  }

  forget(): void {
    this.world.forget();
    this.cloud.forget();
  }
}

/** A world with the Service `web` and its load balancer. */
export async function served(
  annotations: Readonly<Record<string, string>> = {},
  {
    ports,
    spec,
    ...options
  }: BalancerWorldOptions & { readonly ports?: readonly object[]; readonly spec?: object } = {},
): Promise<BalancerWorld> {
  const h = new BalancerWorld(options);
  await h.start();
  h.world.create("web", draft(annotations, ports, spec));
  await h.settle();
  h.forget();
  return h;
}
