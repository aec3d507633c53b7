// The inventory of a simulated vCenter: datacenters, each with a cluster of hosts, and the machines in them.

/** A reference to a managed object. */
export interface Ref {
  readonly type: string;
  readonly value: string;
}

/** An object that is not a machine. */
export interface Place {
  readonly ref: Ref;
  readonly name: string;
  /** Undefined for the root folder. */
  readonly parent: Ref | undefined;
}

export interface GuestNic {
  readonly network: string;
  /** The key of the device, or -1 if the interface was created in the guest. */
  readonly deviceConfigId: number;
  readonly addresses: readonly string[];
}

export interface Machine {
  readonly ref: Ref;
  readonly name: string;
  /** Undefined if vCenter cannot read the configuration. */
  readonly uuid: string | undefined;
  /** Empty if VMware Tools report no host name. */
  readonly hostName: string;
  readonly nics: readonly GuestNic[];
  readonly power: "poweredOn" | "poweredOff" | "suspended";
  readonly connection: string;
  readonly isTemplate: boolean;
  readonly guestID: string;
  readonly cpus: number;
  readonly memoryMB: number;
  readonly extraConfig: Readonly<Record<string, string>>;
  readonly host: Ref;
  readonly pool: Ref;
  readonly parent: Ref;
}

/** The content of a new datacenter. */
export interface Datacenter {
  readonly ref: Ref;
  readonly folder: Ref;
  readonly cluster: Ref;
  readonly pool: Ref;
  readonly hosts: readonly Ref[];
}

export const root: Place = {
  ref: { type: "Folder", value: "group-d1" },
  name: "Datacenters",
  parent: undefined,
};

/** A UUID in the form of vCenter, which is the same in each run. */
function uuidOf(vcenter: string, number: number): string {
  const digits = new Bun.CryptoHasher("sha256").update(`${vcenter} ${number}`).digest("hex");
  return `42${digits.slice(2, 32)}`.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export class Inventory {
  readonly places = new Map<string, Place>([[root.ref.value, root]]);
  readonly #machines = new Map<string, Machine>();
  readonly datacenters: Datacenter[] = [];
  /** The values of objects that the user may not see. */
  readonly hidden = new Set<string>();
  readonly #vcenter: string;
  #last = 1;

  /** The vCenter's name makes its UUIDs differ from those of other vCenters. */
  constructor(vcenter: string) {
    this.#vcenter = vcenter;
  }

  #place(type: string, prefix: string, name: string, parent: Ref): Ref {
    this.#last += 1;
    const ref = { type, value: `${prefix}${this.#last}` };
    this.places.set(ref.value, { ref, name, parent });
    return ref;
  }

  addDatacenter(name: string, options: { readonly hosts?: number; readonly parent?: Ref } = {}): Datacenter {
    const ref = this.#place("Datacenter", "datacenter-", name, options.parent ?? root.ref);
    const folder = this.#place("Folder", "group-v", "vm", ref);
    const hostFolder = this.#place("Folder", "group-h", "host", ref);
    const cluster = this.#place("ClusterComputeResource", "domain-c", `${name}-cluster`, hostFolder);
    const pool = this.#place("ResourcePool", "resgroup-", "Resources", cluster);
    const hosts = Array.from({ length: options.hosts ?? 3 }, (_, index) =>
      this.#place("HostSystem", "host-", `${name}-host-${index}`, cluster),
    );
    const added = { ref, folder, cluster, pool, hosts };
    this.datacenters.push(added);
    return added;
  }

  addFolder(name: string, parent: Ref): Ref {
    return this.#place("Folder", "group-v", name, parent);
  }

  renamePlace({ value }: Ref, name: string): void {
    const place = this.places.get(value);
    if (place !== undefined) this.places.set(value, { ...place, name });
  }

  /** A running machine in the first datacenter. */
  addMachine(name: string, options: Partial<Omit<Machine, "ref" | "name">> = {}): Machine {
    this.#last += 1;
    const number = this.#last;
    const [first] = this.datacenters;
    const { folder: parent, pool, hosts } = first ?? this.addDatacenter("DC0");
    const [host = root.ref] = hosts;
    const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
    const machine: Machine = {
      ref: { type: "VirtualMachine", value: `vm-${number}` },
      name,
      uuid: uuidOf(this.#vcenter, number),
      hostName: name,
      nics: [{ network: "VM Network", deviceConfigId: 4000, addresses: [address] }],
      power: "poweredOn",
      connection: "connected",
      isTemplate: false,
      guestID: "ubuntu64Guest",
      cpus: 2,
      memoryMB: 4096,
      extraConfig: {},
      host,
      pool,
      parent,
      ...options,
    };
    this.#machines.set(machine.ref.value, machine);
    return machine;
  }

  machines(): readonly Machine[] {
    return [...this.#machines.values()];
  }

  withRef(value: string): Machine | undefined {
    return this.#machines.get(value);
  }

  /** Finds a machine by its name. */
  find(name: string): Machine | undefined {
    return this.machines().find((one) => one.name === name);
  }

  existing(name: string): Machine {
    const found = this.find(name);
    if (found === undefined) throw new Error(`The simulated vCenter has no machine ${name}.`);
    return found;
  }

  change(name: string, changes: Partial<Omit<Machine, "ref">>): void {
    const machine = this.existing(name);
    this.#machines.set(machine.ref.value, { ...machine, ...changes });
  }

  /** A machine that is switched off has no guest data, as in vCenter. */
  powerOff(name: string): void {
    this.change(name, { power: "poweredOff", hostName: "", nics: [] });
  }

  remove(name: string): void {
    this.#machines.delete(this.existing(name).ref.value);
  }

  /** Whether the user sees the object: neither it nor one of its containers is hidden. */
  isVisible({ value }: Ref): boolean {
    for (let at: string | undefined = value; at !== undefined; ) {
      if (this.hidden.has(at)) return false;
      at = (this.withRef(at) ?? this.places.get(at))?.parent?.value;
    }
    return true;
  }

  has({ value }: Ref): boolean {
    return this.#machines.has(value) || this.places.has(value);
  }
}
