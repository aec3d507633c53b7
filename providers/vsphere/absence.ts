// Whether a machine that no lookup finds is gone: only if vCenter confirms this, and not if the user may not see the
// machine. vCenter confirms it for the references of machines that it has shown during this connection.

import { type Call, CloudError, ifFound } from "#ccm";
import type { VCenterApi } from "./api/vcenter-api.ts";
import type { Reference } from "./api/vim.ts";
import type { Locations } from "./locations.ts";
import type { VirtualMachine } from "./machine.ts";
import { titleOf } from "./to-instance.ts";
import { canonical } from "./uuids.ts";

/** A vCenter has at most 45,000 machines. The other remembered machines have been removed. */
const maxSeen = 100_000;

interface Seen {
  readonly ref: Reference;
  readonly uuid: string;
  readonly key: string;
}

export class SeenMachines {
  /**
   * The machines by reference and key, because a machine may get another UUID. The first one is the one that was not
   * shown for the longest time.
   */
  readonly #seen = new Map<string, Seen>();
  readonly #max: number;

  constructor(max = maxSeen) {
    this.#max = max;
  }

  add(ref: Reference, uuid: string): void {
    const key = canonical(uuid);
    const id = `${ref.value} ${key}`;
    this.#seen.delete(id);
    this.#seen.set(id, { ref, uuid, key });
    const [oldest = ""] = this.#seen.keys();
    if (this.#seen.size > this.#max) this.#seen.delete(oldest);
  }

  /** All machines that had this key: copies, and a machine that was registered again. The last one was shown last. */
  withKey(key: string): readonly Seen[] {
    return [...this.#seen.values()].filter((one) => one.key === key);
  }

  /** The last key of each machine, by the value of its reference. */
  get keys(): ReadonlyMap<string, string> {
    return new Map([...this.#seen.values()].map(({ ref, key }) => [ref.value, key]));
  }
}

export interface AbsenceProofOptions {
  /** The vCenter's name. */
  readonly name: string;
  readonly api: Pick<VCenterApi, "machines" | "mayRead">;
  readonly locations: Pick<Locations, "places">;
  /** Whether SKIP_NODE_DELETION is set. */
  readonly keepsNodes: boolean;
}

/** The number of machines with one UUID that are checked, because each check takes two requests. */
const maxProved = 4;

export class AbsenceProof {
  /** Machines of the last listing that have no UUID. */
  unidentified: readonly VirtualMachine[] = [];
  readonly #options: AbsenceProofOptions;
  readonly #seen: SeenMachines;

  constructor(options: AbsenceProofOptions, seen: SeenMachines) {
    this.#options = options;
    this.#seen = seen;
  }

  /** Throws unless the machine would be shown if it existed. */
  async prove(key: string, call: Call): Promise<void> {
    const { name, api, locations, keepsNodes } = this.#options;
    if (keepsNodes) throw unproved("SKIP_NODE_DELETION is set, so no Node is deleted.");
    const hidden = this.unidentified.slice(0, 5).map(titleOf).join(", ");
    if (hidden !== "")
      throw unproved(
        `vCenter ${name} does not show the UUID of ${this.unidentified.length} machines, such as ${hidden}, which may be the machine. Repair them, or remove them from the inventory.`,
      );
    const seen = this.#seen.withKey(key).slice(-maxProved);
    for (const { ref } of seen) await this.#proveRemoval(ref, call);
    if (seen.length > 0) return;
    const places = await locations.places(call);
    const datacenters = [...places].flatMap(([value, { type }]) =>
      type === "Datacenter" ? [{ type, value }] : [],
    );
    if (datacenters.length === 0)
      throw unproved(
        `The vCenter user sees no datacenter of ${name}. Grant System.Read on the datacenters of the machines, and check the inventory.`,
      );
    if (!(await api.mayRead(datacenters, call)))
      throw unproved(
        `The vCenter user may not read all datacenters of ${name}, so a machine that is not shown may exist. Grant the role Read-only on them, with propagation.`,
      );
  }

  /** vCenter never uses a reference for another machine. */
  async #proveRemoval(ref: Reference, call: Call): Promise<void> {
    const { name, api } = this.#options;
    const still = `vCenter ${name} still has the machine ${ref.value}`;
    const mayRead = await ifFound(api.mayRead([ref], call));
    if (mayRead === undefined) return;
    if (!mayRead)
      throw unproved(`${still}, and the vCenter user may no longer read it. Grant System.Read on it.`);
    if ((await ifFound(api.machines([ref], call))) !== undefined)
      throw unproved(`${still}, with another UUID.`);
  }
}

const unproved = (text: string): CloudError =>
  new CloudError("forbidden", `The machine is not proved to be gone: ${text}`, {
    operation: "HasPrivilegeOnEntities",
  });
