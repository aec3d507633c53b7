// A whole manager on simulated vCenters, in virtual time.

import { asTransport } from "#ccm/testing";
import { vsphere } from "../../../providers/vsphere/index.ts";
import { addDatacenter, password, user } from "../../../providers/vsphere/simulator/harness.ts";
import { type Machine, VSphereCloud } from "../../../providers/vsphere/simulator/index.ts";
import { swapped } from "../../../providers/vsphere/uuids.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { defined } from "../../../src/core/defined.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { type CommandResult, runCommandIn } from "../../support/command-world.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

export interface VSphereWorldOptions {
  /** Values of the settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The names of vCenters; one by default. */
  readonly vcenters?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const nodes = resourceNamed("nodes");
const conditions = (status: "True" | "False") => [{ type: "Ready", status }];

export class VSphereWorld {
  readonly world: ServiceWorld;
  readonly clouds: ReadonlyMap<string, VSphereCloud>;
  readonly cloud: VSphereCloud;
  readonly settings: Readonly<Record<string, string>>;
  readonly #transport: Transport;

  constructor({ settings = {}, vcenters = ["vcenter"], environment = {} }: VSphereWorldOptions = {}) {
    const clouds = new Map<string, VSphereCloud>();
    let transport: Transport | undefined;
    const { "virtual-centers": sections, ...others } = settings;
    this.world = new ServiceWorld({
      nodes: 0,
      provider: vsphere,
      environment,
      ...(sections !== undefined && { cloudFile: { "virtual-centers": sections } }),
      cloud: (clock) => {
        for (const name of vcenters) {
          const cloud = new VSphereCloud({ clock, name, latency: milliseconds(20) });
          cloud.addUser(user, password);
          addDatacenter(cloud, `DC-${name}`);
          clouds.set(name, cloud);
        }
        const transports = new Map([...clouds].map(([name, cloud]) => [name, asTransport(cloud)]));
        transport = (request, signal) => {
          const send = transports.get(new URL(request.url).hostname);
          if (send === undefined) throw new Error(`No vCenter is at ${request.url}.`);
          return send(request, signal);
        };
        return transport;
      },
    });
    const [first] = clouds.values();
    if (first === undefined || transport === undefined) throw new Error("Expected a cloud.");
    this.clouds = clouds;
    this.cloud = first;
    this.#transport = transport;
    const server = sections === undefined ? { server: vcenters[0] } : {};
    this.settings = defined({ ...server, user, password, ...others }) as Readonly<Record<string, string>>;
  }

  start(...flags: readonly string[]): Promise<void> {
    const all = Object.entries(this.settings).map(([name, value]) => `--config-set=${name}=${value}`);
    return this.world.start(...all, "--controllers=cloud-node,cloud-node-lifecycle", ...flags);
  }

  /** Runs a command with the same settings, in a vsphere.conf. */
  run(...args: readonly string[]): Promise<CommandResult> {
    const { "label-zone": zone, "label-region": region, ...global } = this.settings;
    const text = [
      "[Global]",
      ...Object.entries(global).map(([name, value]) => `${name} = ${value}`),
      ...(zone === undefined ? [] : ["[Labels]", `zone = ${zone}`, `region = ${region}`]),
    ].join("\n");
    return runCommandIn(
      this.world,
      [...args, "--master=http://test-api-server", "--cloud-config=/vsphere.conf"],
      { provider: vsphere, cloud: this.#transport, files: { "/vsphere.conf": text } },
    );
  }

  /** A Node that joins, with a new machine, whose UUID its kernel shows in the other byte order. */
  join(name: string, machine: Partial<Machine> = {}, cloud: VSphereCloud = this.cloud): Machine {
    const added = cloud.inventory.addMachine(name, machine);
    this.joinNode(name, swapped(added.uuid ?? ""));
    return added;
  }

  /** A Node that joins, without a machine. */
  joinNode(name: string, systemUUID: string): void {
    const status = { nodeInfo: { systemUUID }, conditions: conditions("True") } as unknown as NonNullable<
      Node["status"]
    >;
    this.put(toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] }, status }));
  }

  /** An initialized Node with a new machine. */
  addNode(name: string, machine: Partial<Machine> = {}, cloud: VSphereCloud = this.cloud): Machine {
    const added = cloud.inventory.addMachine(name, machine);
    const status = { conditions: conditions("True") } as NonNullable<Node["status"]>;
    this.put(toNode({ name, uid: `uid-${name}`, spec: { providerID: `vsphere://${added.uuid}` }, status }));
    return added;
  }

  put(node: Node): void {
    this.world.server.store.put(nodes, node as unknown as KubeObject);
  }

  nodes(): readonly Node[] {
    return this.world.server.store.list("nodes") as unknown as readonly Node[];
  }

  node(name: string): Node | undefined {
    return this.nodes().find(({ metadata }) => metadata.name === name);
  }

  /** Stops the kubelet's reports. */
  setNotReady(name: string): void {
    const node = this.node(name);
    if (node === undefined) throw new Error(`There is no Node ${name}.`);
    this.put({ ...node, status: { ...node.status, conditions: conditions("False") } as Node["status"] });
  }

  get uninitialized(): number {
    return this.nodes().filter(({ spec }) => spec.providerID === undefined || (spec.taints ?? []).length > 0)
      .length;
  }

  /** The operations that all vCenters have received since the last `forget`. */
  get requests(): readonly string[] {
    return [...this.clouds.values()].flatMap(({ seen }) => seen.map(({ operation }) => operation));
  }

  forget(): void {
    this.world.forget();
    for (const cloud of this.clouds.values()) cloud.forget();
  }
}
