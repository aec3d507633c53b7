// The datacenters whose machines may be Nodes. Pure.

import { CloudError } from "#ccm";
import type { VirtualMachine } from "./machine.ts";
import { datacenterOf, type Place, type Places, pathOf } from "./zones.ts";

const operation = "RetrievePropertiesEx";

/** The value of a reference, such as `datacenter-3`, for `Datacenter:datacenter-3`. */
const valueIn = (wanted: string): string | undefined => /^Datacenter:(.+)$/.exec(wanted)?.[1];

export class Datacenters {
  readonly #vcenter: string;
  /** Names, paths or references. Empty: all. */
  readonly #wanted: readonly string[];

  constructor(vcenter: string, wanted: readonly string[]) {
    this.#vcenter = vcenter;
    this.#wanted = wanted;
  }

  /** The machines in them. Throws if one of them does not exist, because its machines would seem to be gone. */
  select(machines: readonly VirtualMachine[], places: Places): readonly VirtualMachine[] {
    if (this.#wanted.length === 0) return machines;
    const selected = new Set(this.#wanted.map((wanted) => this.#find(wanted, places)));
    return machines.filter((machine) => {
      const datacenter = datacenterOf(machine, places);
      // If the folder of a machine is not visible, nothing shows that it is elsewhere.
      return datacenter === undefined || selected.has(datacenter.value);
    });
  }

  #find(wanted: string, places: Places): string {
    const all = [...places].filter(([, { type }]) => type === "Datacenter");
    const isIt = ([value, { name }]: readonly [string, Place]): boolean =>
      value === valueIn(wanted) || name === wanted || pathOf(value, places) === wanted.replace(/^\//, "");
    const [first, second] = all.filter(isIt);
    if (first !== undefined && second === undefined) return first[0];
    const known = all.map(([value]) => pathOf(value, places)).join(", ") || "none";
    const problem =
      first === undefined
        ? `vCenter ${this.#vcenter} shows no datacenter ${JSON.stringify(wanted)}. It may have been renamed, or the user may not see it`
        : `vCenter ${this.#vcenter} has several datacenters ${JSON.stringify(wanted)}`;
    const text = `${problem}. No machine of this vCenter is looked at until this is fixed. Correct datacenters; it shows ${known}.`;
    throw new CloudError("invalid", text, { operation });
  }
}
