// The machines of a vCenter as instances: one source, listed page by page, with lookups by id, UUID and host name.

import type { Call, Instance, InstanceLookup, InstanceSource } from "#ccm";
import { AbsenceProof, SeenMachines } from "./absence.ts";
import type { Connection } from "./api/connection.ts";
import type { FoundBy, VCenterApi } from "./api/vcenter-api.ts";
import type { ManagedObject } from "./api/vim.ts";
import { selectMachines } from "./datacenters.ts";
import type { Known, Locations } from "./locations.ts";
import { toMachine, type VirtualMachine } from "./machine.ts";
import { type Description, keyOf, toInstances } from "./to-instance.ts";
import { canonical, isUUID, orders, swapped } from "./uuids.ts";

export interface MachineSourceOptions {
  /** The vCenter's name. */
  readonly name: string;
  readonly connection: Pick<Connection, "confirm">;
  readonly api: VCenterApi;
  readonly locations: Locations;
  readonly description: Description;
  /** The datacenters. Empty means all. */
  readonly datacenters: readonly string[];
  /** Whether SKIP_NODE_DELETION is set. */
  readonly keepsNodes: boolean;
}

const machinesIn = (objects: readonly ManagedObject[]): readonly VirtualMachine[] =>
  objects.filter(({ ref }) => ref.type === "VirtualMachine").map(toMachine);

class Machines {
  readonly #options: MachineSourceOptions;
  readonly #seen = new SeenMachines();
  readonly #absence: AbsenceProof;

  constructor(options: MachineSourceOptions) {
    this.#options = options;
    this.#absence = new AbsenceProof(options, this.#seen);
  }

  /** Yields one page per request, because the framework chooses between a listing and lookups by the number of requests. */
  async *list(call: Call): AsyncGenerator<readonly Instance[], void, undefined> {
    const { api, connection, locations } = this.#options;
    const objects: ManagedObject[] = [];
    let requests = 0;
    for await (const page of api.inventory(call)) {
      requests += 1;
      objects.push(...page);
    }
    const known = await locations.learn(objects, call);
    if (locations.usesTags) requests += 1;
    const machines = this.#select(machinesIn(objects), known);
    const instances = await this.#describe(machines, known, call);
    connection.confirm();
    this.#absence.unidentified = machines.filter(({ uuid }) => uuid === undefined);
    const size = Math.max(1, Math.ceil(instances.length / requests));
    for (let page = 0; page < requests; page++) yield instances.slice(page * size, (page + 1) * size);
  }

  /** The machine of a Node that is not Ready. Machines in other datacenters count, because they exist. */
  async byKey(key: string, call: Call): Promise<readonly Instance[]> {
    const found = await this.#search(key, call);
    if (found.length > 0)
      return this.#describe(found, await this.#options.locations.knownFor(found, call), call);
    await this.#absence.prove(key, call);
    return [];
  }

  async byUUID(uuid: string, call: Call): Promise<readonly Instance[]> {
    return this.#describeSelected(await this.#search(uuid, call), call);
  }

  async byName(name: string, call: Call): Promise<readonly Instance[]> {
    const instances = await this.#describeSelected(await this.#read("name", name, call), call);
    return instances.filter(({ names }) => names.includes(name));
  }

  async #search(uuid: string, call: Call): Promise<readonly VirtualMachine[]> {
    if (!isUUID(uuid)) return [];
    const known = this.#seen.withKey(canonical(uuid)).at(-1)?.uuid;
    const [first, second] = known === undefined ? orders(uuid) : [known, swapped(known)];
    const found = await this.#read("uuid", first, call);
    return found.length > 0 ? found : this.#read("uuid", second, call);
  }

  async #read(by: FoundBy, value: string, call: Call): Promise<readonly VirtualMachine[]> {
    const { api } = this.#options;
    return machinesIn(await api.machines(await api.find(by, value, call), call));
  }

  #select(machines: readonly VirtualMachine[], { places }: Known): readonly VirtualMachine[] {
    const { name, datacenters } = this.#options;
    return selectMachines({ vcenter: name, datacenters }, machines, places);
  }

  async #describeSelected(machines: readonly VirtualMachine[], call: Call): Promise<readonly Instance[]> {
    if (machines.length === 0) return [];
    const known = await this.#options.locations.knownFor(machines, call);
    return this.#describe(this.#select(machines, known), known, call);
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
}

export function machineSource(options: MachineSourceOptions): InstanceSource {
  const machines = new Machines(options);
  const lookup = (find: (key: string, call: Call) => Promise<readonly Instance[]>): InstanceLookup => ({
    limit: 1,
    find: async ([key = ""], call) => {
      const found = await find(key, call);
      options.connection.confirm();
      return new Map([[key, found]]);
    },
  });
  return {
    name: options.name,
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
