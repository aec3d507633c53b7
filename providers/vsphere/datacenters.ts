// Selects the datacenters whose machines may be Nodes. Pure.

import { CloudError } from "#ccm";
import type { VirtualMachine } from "./machine.ts";
import { datacenterOf, type Place, type Places, pathOf } from "./zones.ts";

export interface WantedDatacenters {
  readonly vcenter: string;
  /** Names, paths or references. Empty means all. */
  readonly datacenters: readonly string[];
}

/** The machines in the datacenters. Throws if a datacenter does not exist, because its machines would seem to be gone. */
export function selectMachines(
  { vcenter, datacenters }: WantedDatacenters,
  machines: readonly VirtualMachine[],
  places: Places,
): readonly VirtualMachine[] {
  if (datacenters.length === 0) return machines;
  const selected = new Set(datacenters.map((wanted) => find(wanted, vcenter, places)));
  return machines.filter((machine) => {
    const datacenter = datacenterOf(machine, places);
    // If the folder of a machine is not visible, nothing shows that the machine is elsewhere.
    return datacenter === undefined || selected.has(datacenter.value);
  });
}

function find(wanted: string, vcenter: string, places: Places): string {
  const all = [...places].filter(([, { type }]) => type === "Datacenter");
  const isIt = ([value, { name }]: readonly [string, Place]): boolean =>
    wanted === `Datacenter:${value}` ||
    name === wanted ||
    pathOf(value, places) === wanted.replace(/^\//, "");
  const [first, second] = all.filter(isIt);
  if (first !== undefined && second === undefined) return first[0];
  const known = all.map(([value]) => pathOf(value, places)).join(", ") || "none";
  const problem =
    first === undefined
      ? `vCenter ${vcenter} shows no datacenter ${JSON.stringify(wanted)}. It may have been renamed, or the vCenter user has no permission to see it`
      : `vCenter ${vcenter} has several datacenters ${JSON.stringify(wanted)}`;
  const text = `${problem}. Machines of this vCenter stay unknown until this is fixed. Correct datacenters; vCenter shows ${known}.`;
  throw new CloudError("invalid", text, { operation: "RetrievePropertiesEx" });
}
