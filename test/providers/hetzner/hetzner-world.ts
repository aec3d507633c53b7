// A whole manager on a simulated Hetzner project, in virtual time.

import { asTransport } from "#ccm/testing";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { token } from "../../../providers/hetzner/simulator/harness.ts";
import { HetznerCloud } from "../../../providers/hetzner/simulator/index.ts";
import type { Milliseconds } from "../../../src/core/brand.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { Authorize } from "../../../src/testing/apiserver/http/serve-reviews.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

export interface HetznerWorldOptions {
  /** Nodes that are initialized, each with its server. */
  readonly nodes?: number;
  /** Attaches all servers to a private network. */
  readonly hasNetwork?: boolean;
  readonly requestsPerHour?: number;
  readonly latency?: Milliseconds;
  readonly actionTime?: Milliseconds;
  /** Enables dedicated servers, with credentials or without. */
  readonly robot?: "readable" | "unreadable";
  /** Further provider settings. */
  readonly config?: Readonly<Record<string, string>>;
  /** Authorizes requests to the API server; allows all by default. */
  readonly authorize?: Authorize;
}

const nodes = resourceNamed("nodes");
const enabled = { "robot-enabled": "true", "network-routes-enabled": "false" };
const robotSettings = {
  readable: { ...enabled, "robot-user": "robot", "robot-password": "robot" },
  unreadable: enabled,
};

export interface RobotNodeDraft {
  /** Default: initialized, with `hrobot://` and the number of a new server. With null, the Node joins. */
  readonly providerID?: string | null;
  /** The InternalIPs that the kubelet reports. */
  readonly internalIPs?: readonly string[];
  /** Settings of the server. */
  readonly server?: Parameters<HetznerCloud["project"]["robot"]["add"]>[1];
}

export class HetznerWorld {
  readonly world: ServiceWorld;
  readonly cloud: HetznerCloud;
  readonly #networkID: number | undefined;
  readonly #config: Readonly<Record<string, string>>;
  #added = 0;

  constructor(options: HetznerWorldOptions = {}) {
    let cloud: HetznerCloud | undefined;
    this.world = new ServiceWorld({
      nodes: 0,
      provider: hetzner,
      ...(options.authorize !== undefined && { authorize: options.authorize }),
      cloud: (clock) => {
        cloud = new HetznerCloud({
          clock,
          latency: options.latency ?? milliseconds(20),
          actionTime: options.actionTime ?? seconds(1),
          requestsPerHour: options.requestsPerHour ?? 3600,
        });
        return asTransport(cloud);
      },
    });
    if (cloud === undefined) throw new Error("Expected a cloud.");
    this.cloud = cloud;
    this.cloud.tokens.add(token);
    this.#networkID = options.hasNetwork === true ? cloud.project.networks.add("cluster").id : undefined;
    this.#config = { ...(options.robot && robotSettings[options.robot]), ...options.config };
    for (let index = 0; index < (options.nodes ?? 0); index += 1) this.addNode(`node-${index}`);
  }

  get networkID(): number {
    if (this.#networkID === undefined) throw new Error("There is no network.");
    return this.#networkID;
  }

  start(controllers: string, ...flags: readonly string[]): Promise<void> {
    const config = {
      token,
      "load-balancers-location": "fsn1",
      ...(this.#networkID !== undefined && { network: String(this.#networkID) }),
      ...this.#config,
    };
    const settings = Object.entries(config).map(([name, value]) => `${name}=${value}`);
    return this.world.start(
      `--config-set=${settings.join(",")}`,
      `--controllers=${controllers}`,
      "--allow-untagged-cloud",
      ...flags,
    );
  }

  addServer(name: string): { readonly id: number; readonly address: string | undefined } {
    const networks = this.#networkID === undefined ? [] : [{ network: this.#networkID }];
    const { id, privateNets } = this.cloud.project.servers.add(name, { networks });
    return { id, address: privateNets[0]?.ip };
  }

  /** An initialized Node with a new server and its own pod range. */
  addNode(name: string): void {
    const { id, address } = this.addServer(name);
    const podCIDR = this.#nextRange();
    const node = toNode({
      name,
      uid: `uid-${name}-${this.world.clock.monotonic()}`,
      spec: { providerID: `hcloud://${id}`, podCIDR, podCIDRs: [podCIDR] },
    });
    const addresses = [
      { type: "Hostname", address: name },
      ...(address === undefined ? [] : [{ type: "InternalIP", address }]),
    ];
    this.#put({ ...node, status: { ...node.status, addresses } } as Node);
  }

  /** A Node with a new dedicated server. The first InternalIP is the address of the server in a vSwitch. */
  addRobotNode(name: string, { providerID, internalIPs = [], server }: RobotNodeDraft = {}): number {
    const { number } = this.cloud.project.robot.add(name, { vSwitchIP: internalIPs[0], ...server });
    const id = providerID ?? `hrobot://${number}`;
    const spec = providerID === null ? { taints: [uninitialized] } : { providerID: id };
    const addresses = internalIPs.map((address) => ({ type: "InternalIP" as const, address }));
    const node = toNode({ name, uid: `uid-${name}`, spec });
    this.#put({ ...node, status: { ...node.status, addresses } });
    return number;
  }

  /** A Node that joins, with a new server. */
  joinNode(name: string): void {
    this.addServer(name);
    this.joinRebuilt(name);
  }

  /** A Node that joins and whose server exists. */
  joinRebuilt(name: string): void {
    const podCIDR = this.#nextRange();
    const spec = { taints: [uninitialized], podCIDR, podCIDRs: [podCIDR] };
    this.#put(toNode({ name, uid: `uid-${name}`, spec }));
  }

  node(name: string): Node {
    return this.world.server.store.get("nodes", undefined, name) as unknown as Node;
  }

  nodes(): readonly Node[] {
    return this.world.server.store.list("nodes") as unknown as readonly Node[];
  }

  get uninitialized(): number {
    return this.nodes().filter(({ spec }) => spec.providerID === undefined || (spec.taints ?? []).length > 0)
      .length;
  }

  /** The requests that the cloud has received since the last `forget`: "POST /load_balancers". */
  get requests(): readonly string[] {
    return this.cloud.seen.map(({ operation }) => operation);
  }

  forget(): void {
    this.world.forget();
    this.cloud.forget();
  }

  #nextRange(): string {
    const index = this.#added++;
    return `10.${244 + (index >> 8)}.${index & 255}.0/24`;
  }

  #put(node: Node): void {
    this.world.server.store.put(nodes, node as unknown as KubeObject);
  }
}
