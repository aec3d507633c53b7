// The machines of a vCenter as instances: one source, listed page by page, with lookups by id, UUID and host name. A machine is
// gone only if vCenter confirms it, not if the user may not see it.

import {
  type Call,
  CloudError,
  type Instance,
  type InstanceLookup,
  type InstanceSource,
  ifFound,
} from "#ccm";
import type { FoundBy, VCenterApi } from "./api/vcenter-api.ts";
import type { ManagedObject, Reference } from "./api/vim.ts";
import type { Datacenters } from "./datacenters.ts";
import type { Known, Locations } from "./locations.ts";
import { toMachine, type VirtualMachine } from "./machine.ts";
import { SeenMachines } from "./seen-machines.ts";
import { type Description, keyOf, titleOf, toInstances } from "./to-instance.ts";
import { canonical, isUUID, orders, swapped } from "./uuids.ts";
import type { Places } from "./zones.ts";

export interface MachineSourceOptions {
  readonly api: VCenterApi;
  readonly locations: Locations;
  readonly description: Description;
  readonly datacenters: Datacenters;
  /** SKIP_NODE_DELETION is set. */
  readonly keepsNodes: boolean;
}

const operation = "HasPrivilegeOnEntities";

const machinesIn = (objects: readonly ManagedObject[]): readonly VirtualMachine[] =>
  objects.filter(({ ref }) => ref.type === "VirtualMachine").map(toMachine);

class Machines {
  readonly #options: MachineSourceOptions;
  readonly #seen = new SeenMachines();
  /** Machines of the last listing that have no UUID. */
  #unidentified: readonly VirtualMachine[] = [];

  constructor(options: MachineSourceOptions) {
    this.#options = options;
  }

  /** As many pages as requests: the framework weighs a listing against lookups by their number. */
  async *list(call: Call): AsyncGenerator<readonly Instance[], void, undefined> {
    const { api, locations, datacenters } = this.#options;
    const objects: ManagedObject[] = [];
    let requests = 0;
    for await (const page of api.inventory(call)) {
      requests += 1;
      objects.push(...page);
    }
    const known = await locations.learn(objects, call);
    if (locations.usesTags) requests += 1;
    const machines = datacenters.select(machinesIn(objects), known.places);
    const instances = await this.#describe(machines, known, call);
    this.#unidentified = machines.filter(({ uuid }) => uuid === undefined);
    const size = Math.max(1, Math.ceil(instances.length / requests));
    for (let page = 0; page < requests; page++) yield instances.slice(page * size, (page + 1) * size);
  }

  /** The machine of a Node that is not Ready. Machines in other datacenters count, because they exist. */
  async byKey(key: string, call: Call): Promise<readonly Instance[]> {
    const found = await this.#search(key, call);
    if (found.length === 0) {
      await this.#proveAbsence(key, call);
      return [];
    }
    return this.#describe(found, await this.#options.locations.knownFor(found, call), call);
  }

  async byUUID(uuid: string, call: Call): Promise<readonly Instance[]> {
    return this.#describeSelected(await this.#search(uuid, call), call);
  }

  async byName(name: string, call: Call): Promise<readonly Instance[]> {
    const found = await this.#read("name", name, call);
    const instances = await this.#describeSelected(found, call);
    return instances.filter(({ names }) => names.includes(name));
  }

  async #search(uuid: string, call: Call): Promise<readonly VirtualMachine[]> {
    if (!isUUID(uuid)) return [];
    const known = this.#seen.uuidOf(canonical(uuid));
    const [first, second] = known === undefined ? orders(uuid) : [known, swapped(known)];
    const found = await this.#read("uuid", first, call);
    return found.length > 0 ? found : this.#read("uuid", second, call);
  }

  async #read(by: FoundBy, value: string, call: Call): Promise<readonly VirtualMachine[]> {
    const { api } = this.#options;
    return machinesIn(await api.machines(await api.find(by, value, call), call));
  }

  async #describeSelected(machines: readonly VirtualMachine[], call: Call): Promise<readonly Instance[]> {
    if (machines.length === 0) return [];
    const { locations, datacenters } = this.#options;
    const known = await locations.knownFor(machines, call);
    return this.#describe(datacenters.select(machines, known.places), known, call);
  }

  async #describe(
    machines: readonly VirtualMachine[],
    known: Known,
    call: Call,
  ): Promise<readonly Instance[]> {
    const { locations, description } = this.#options;
    const locate = await locations.locate(machines, known, call);
    const instances = toInstances(machines, description, locate, this.#seen.keys);
    for (const { ref, uuid } of machines) if (uuid !== undefined) this.#seen.add(ref, uuid);
    return instances;
  }

  /** Throws unless the machine would be shown if it existed. */
  async #proveAbsence(key: string, call: Call): Promise<void> {
    const { api, locations, keepsNodes } = this.#options;
    if (keepsNodes) throw unproved("SKIP_NODE_DELETION is set, so no Node is deleted.");
    const hidden = this.#unidentified.slice(0, 5).map(titleOf).join(", ");
    if (hidden !== "")
      throw unproved(
        `vCenter ${api.name} does not show the UUID of ${this.#unidentified.length} machines, such as ${hidden}, which may be the machine. Repair them, or remove them from the inventory.`,
      );
    const seen = this.#seen.referencesOf(key);
    for (const ref of seen) await this.#proveRemoval(ref, call);
    if (seen.length > 0) return;
    const datacenters = datacentersIn(await locations.places(call));
    if (datacenters.length === 0)
      throw unproved(
        `The user sees no datacenter of vCenter ${api.name}. Grant System.Read on the datacenters of the machines, and check the inventory.`,
      );
    if (!(await api.mayRead(datacenters, call)))
      throw unproved(
        `The user may not read all datacenters of vCenter ${api.name}, so a machine that is not shown may exist. Grant the role Read-only on them, with propagation.`,
      );
  }

  /** A reference is never used for another machine. */
  async #proveRemoval(ref: Reference, call: Call): Promise<void> {
    const { api } = this.#options;
    const still = `vCenter ${api.name} still has the machine ${ref.value}`;
    if (await isMissing(async () => this.#checkRight(ref, still, call))) return;
    if (await isMissing(() => api.machines([ref], call))) return;
    throw unproved(`${still}, with another UUID.`);
  }

  async #checkRight(ref: Reference, still: string, call: Call): Promise<void> {
    if (await this.#options.api.mayRead([ref], call)) return;
    throw unproved(`${still}, and the user may no longer read it. Grant System.Read on it.`);
  }
}

/** Whether vCenter reports that the object does not exist. Other errors are thrown. */
const isMissing = async (request: () => Promise<unknown>): Promise<boolean> =>
  (await ifFound(request().then(() => true))) === undefined;

const unproved = (text: string): CloudError =>
  new CloudError("forbidden", `The machine is not proved to be gone: ${text}`, { operation });

const datacentersIn = (places: Places): readonly Reference[] =>
  [...places].flatMap(([value, { type }]) => (type === "Datacenter" ? [{ type, value }] : []));

const lookup = (find: (key: string, call: Call) => Promise<readonly Instance[]>): InstanceLookup => ({
  limit: 1,
  find: async ([key = ""], call) => new Map([[key, await find(key, call)]]),
});

export function machineSource(options: MachineSourceOptions): InstanceSource {
  const machines = new Machines(options);
  return {
    name: options.api.name,
    // Addresses and host names come from the guest.
    selfReported: true,
    keyOf,
    list: (call) => machines.list(call),
    lookups: {
      id: lookup((key, call) => machines.byKey(key, call)),
      uuid: lookup((uuid, call) => machines.byUUID(uuid, call)),
      name: lookup((name, call) => machines.byName(name, call)),
    },
  };
}
