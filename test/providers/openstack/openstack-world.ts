// A whole manager on a simulated project of OpenStack, in virtual time.

import { asTransport } from "#ccm/testing";
import { openstack } from "../../../providers/openstack/index.ts";
import { config, secret } from "../../../providers/openstack/simulator/harness.ts";
import {
  addExternalNetwork,
  addPort,
  addRouter,
  addServer,
  ensureSubnet,
  OpenStackCloud,
  type OpenStackOptions,
} from "../../../providers/openstack/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { type CommandResult, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import { besideCloud } from "./openstack-lab.ts";

export const prefix = "loadbalancer.openstack.org/";
export const tcpPort = (port: number, nodePort = 30_000 + port) => ({
  name: `p${port}`,
  port,
  protocol: "TCP",
  nodePort,
});

/** A Service of the test API server; annotations without a slash get the prefix. */
export const draft = (
  annotations: Readonly<Record<string, string>> = {},
  ports: readonly object[] = [tcpPort(80)],
) => ({
  annotations: Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => [name.includes("/") ? name : prefix + name, value]),
  ),
  spec: { ports: ports as never },
});

export interface OpenStackWorldOptions extends Partial<Omit<OpenStackOptions, "clock">> {
  /** Nodes that are initialized, each with its server. */
  readonly nodes?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Sections [Scope]. With them there is another cloud, `far`, in the region RegionTwo. */
  readonly scopes?: readonly Readonly<Record<string, string>>[];
  /** Sections [LoadBalancerClass]. */
  readonly classes?: readonly Readonly<Record<string, string>>[];
}

export class OpenStackWorld {
  readonly world: ServiceWorld;
  readonly cloud: OpenStackCloud;
  readonly far: OpenStackCloud | undefined;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #scopes: OpenStackWorldOptions["scopes"];
  readonly #transport: Transport;

  constructor({ nodes: count = 2, settings = {}, scopes, classes, ...options }: OpenStackWorldOptions = {}) {
    let cloud: OpenStackCloud | undefined;
    let far: OpenStackCloud | undefined;
    let transport: Transport | undefined;
    this.world = new ServiceWorld({
      nodes: 0,
      provider: openstack,
      cloudFile: {
        ...(scopes && { scopes: JSON.stringify(scopes) }),
        ...(classes && { "load-balancer-classes": JSON.stringify(classes) }),
      },
      cloud: (clock) => {
        cloud = new OpenStackCloud({ clock, latency: milliseconds(20), ...options });
        const beside = scopes === undefined ? undefined : besideCloud(cloud, clock);
        far = beside?.cloud;
        transport = beside?.transport ?? asTransport(cloud);
        return transport;
      },
    });
    if (cloud === undefined || transport === undefined) throw new Error("Expected a cloud.");
    this.cloud = cloud;
    this.far = far;
    this.#transport = transport;
    this.#scopes = scopes;
    cloud.keystone.applicationCredentials.set("fairlead", secret);
    addExternalNetwork(cloud.project);
    addRouter(cloud.project, "router-1");
    const { "router-id": _, ...access } = config;
    this.#settings = { ...access, ...settings };
    for (let index = 0; index < count; index += 1) this.addNode(`node-${index}`);
  }

  async start(...flags: readonly string[]): Promise<void> {
    const all = Object.entries(this.#settings).map(([name, value]) => `--config-set=${name}=${value}`);
    await this.world.start(...all, "--controllers=service", "--cluster-name=prod", ...flags);
  }

  /** Runs a command with the same settings, in a cloud.conf. */
  run(...args: readonly string[]): Promise<CommandResult> {
    const { "regional-provider-ids": isRegional = "false", ...settings } = this.#settings;
    const lines = (values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([name, value]) => `${name} = ${value}`);
    const sections = (this.#scopes ?? []).map(({ name, ...values }) => [
      `[Scope "${name}"]`,
      ...lines(values),
    ]);
    const text = ["[Global]", ...lines(settings), ...sections.flat()].join("\n");
    return runCommandIn(
      this.world,
      [...args, "--master=http://test-api-server", "--cloud-config=/cloud.conf", "--cluster-name=prod"],
      {
        provider: openstack,
        cloud: this.#transport,
        files: { "/cloud.conf": text },
        environment: { OS_CCM_REGIONAL: isRegional },
      },
    );
  }

  /** An initialized Node with its server. */
  addNode(name: string, { project } = this.cloud, spec: Node["spec"] = {}): void {
    const { id } = addServer(project, name);
    const address =
      project.ports.list().find(({ device_id }) => device_id === id)?.fixed_ips[0]?.ip_address ?? "";
    const node = toNode({ name, uid: `uid-${name}`, spec: { providerID: `openstack:///${id}`, ...spec } });
    const status = { ...node.status, addresses: [{ type: "InternalIP", address }] };
    this.world.server.store.put(resourceNamed("nodes"), { ...node, status } as Node as unknown as KubeObject);
  }

  get requests(): readonly string[] {
    return this.cloud.seen.map(({ operation }) => operation);
  }

  /** The requests that change something, without those for tokens. */
  get changes(): readonly string[] {
    return this.requests.filter((one) => !one.startsWith("GET ") && !one.endsWith("/auth/tokens"));
  }

  /** The number of requests that Octavia has rejected because a load balancer was immutable. */
  get immutable(): number {
    return this.cloud.seen.filter(({ status }) => status === 409).length;
  }

  balancers() {
    return this.cloud.balancing.balancers.list();
  }

  floatingIPs() {
    return this.cloud.project.floatingIPs.list();
  }

  events(name = "web"): string {
    return this.world.events(name).join("\n");
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
  options: OpenStackWorldOptions = {},
  ...flags: readonly string[]
): Promise<OpenStackWorld> {
  const h = new OpenStackWorld(options);
  await h.start(...flags);
  h.world.create("web", draft(annotations));
  await h.settle();
  h.forget();
  return h;
}

/** A load balancer that this cluster did not create. */
export function putBalancer(
  { cloud: { project, balancing } }: OpenStackWorld,
  name: string,
  tags: readonly string[],
) {
  const port = addPort(project, ensureSubnet(project, "nodes", "10.1.0.0/16"), { device_owner: "Octavia" });
  const id = project.ids.uuid();
  return balancing.balancers.put({
    id,
    name,
    description: "",
    provisioning_status: "ACTIVE",
    tags,
    operating_status: "ONLINE",
    provider: "amphora",
    vip_address: "10.1.0.200",
    vip_port_id: port.id,
    vip_subnet_id: "",
    vip_network_id: "",
    additional_vips: [],
    flavor_id: null,
    availability_zone: null,
  });
}
