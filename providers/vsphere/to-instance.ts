// Describes a machine to the framework: names, addresses, state, zone, and problems. Pure.

import {
  declareReasons,
  errorProblem,
  type Instance,
  type InstanceState,
  type ProviderProblem,
  providerID,
} from "#ccm";
import { type AddressRules, addressesOf } from "./addresses.ts";
import { guestNameOf } from "./guest-os.ts";
import type { LocationOf } from "./locations.ts";
import type { VirtualMachine } from "./machine.ts";
import { canonical, isUUID, swapped } from "./uuids.ts";
import type { Categories } from "./zones.ts";

export const reasons = declareReasons({
  DuplicateUUID:
    "Several virtual machines have the same BIOS UUID, so the machine of the Node is not certain. Give the copies another UUID.",
  NoUsableAddress:
    "No address of the virtual machine fits the settings for addresses. Correct them, or the networks of the machine.",
  ZoneTagMissing:
    "The virtual machine and its parents (folder, host, cluster, datacenter) have no tag for the zone or the region. Attach tags of both categories.",
});

/** How the machines of a vCenter are described. */
export interface Description {
  readonly rules: AddressRules;
  readonly categories: Categories | undefined;
  /** Labels that every Node gets when it joins. */
  readonly labels: Readonly<Record<string, string>>;
}

const scheme = "vsphere://";

/** The key of the machine with this provider id, whose UUID may have either byte order. */
export function keyOf(id: string): string | undefined {
  const uuid = id.startsWith(scheme) ? id.slice(scheme.length).trim().toLowerCase() : "";
  return isUUID(uuid) ? canonical(uuid) : undefined;
}

/** A machine without a UUID has a key that no provider id has. */
export const keyOfMachine = ({ uuid, ref }: Pick<VirtualMachine, "uuid" | "ref">): string =>
  uuid === undefined ? ref.value : canonical(uuid);

export const titleOf = ({ name, ref }: VirtualMachine): string => `${name} (${ref.value})`;

const states: Readonly<Record<string, InstanceState>> = { poweredOff: "stopped", suspended: "suspended" };

const waits = "A joining Node stays uninitialized until it does.";

function addressesIn(
  machine: VirtualMachine,
  rules: AddressRules,
): Pick<Instance, "addresses"> & { readonly problem?: ProviderProblem } {
  const { hostName, nics, power } = machine;
  if (hostName === undefined || nics.length === 0) {
    // vCenter forgets what VMware Tools reported when a machine is switched off.
    if (power !== "poweredOn") return { addresses: [] };
    const what = hostName === undefined ? "a host name" : "network interfaces";
    const text = `VMware Tools of ${titleOf(machine)} do not report ${what} yet. ${waits} Check that VMware Tools run.`;
    return { addresses: [], problem: errorProblem("IncompleteInstance", text) };
  }
  const chosen = addressesOf(machine, rules);
  if ("missing" in chosen) {
    const text = `${titleOf(machine)} has no usable address: ${chosen.missing}. The addresses of its Node do not change, and a joining Node stays uninitialized. Correct the settings for addresses, or the networks of the machine.`;
    return { addresses: [], problem: errorProblem(reasons.NoUsableAddress, text) };
  }
  return { addresses: [{ kind: "Hostname", value: hostName }, ...chosen.addresses] };
}

function locationIn(machine: VirtualMachine, locate: LocationOf, categories: Categories | undefined) {
  const location = locate(machine);
  if (categories === undefined || location !== undefined) return { location };
  const text = `Neither the host, the resource pool nor the folders of ${titleOf(machine)} have tags of both categories ${categories.zone} and ${categories.region}. A joining Node stays uninitialized until they do. Attach the tags, for example to the cluster and the datacenter.`;
  return { location, problem: errorProblem(reasons.ZoneTagMissing, text) };
}

/** The machine with this UUID. `others` have the same UUID. */
function describe(
  machine: VirtualMachine & { readonly uuid: string },
  { rules, categories, labels }: Description,
  locate: LocationOf,
): Instance {
  const { uuid, isTemplate, hostName, cpus, memoryMB, guestID, power } = machine;
  const common = { key: canonical(uuid), id: providerID(scheme + uuid), title: titleOf(machine) };
  const type = `vsphere-vm.cpu-${cpus}.mem-${Math.floor(memoryMB / 1024)}gb.os-${guestNameOf(guestID)}`;
  // No kubelet runs in a template, but the Node of a machine that became a template stays.
  if (isTemplate) return { ...common, names: [], addresses: [], type, state: "stopped" };
  const { addresses, problem } = addressesIn(machine, rules);
  const { location, problem: untagged } = locationIn(machine, locate, categories);
  const problems = [problem, untagged].flatMap((one) => one ?? []);
  return {
    ...common,
    names: hostName === undefined ? [] : [...new Set([hostName, hostName.toLowerCase()])],
    uuids: [uuid, swapped(uuid)],
    state: states[power ?? ""] ?? "running",
    addresses,
    type,
    ...location,
    labels,
    ...(problems.length > 0 && { problems }),
  };
}

/** A machine that cannot be described: its Node does not change. */
function undescribed(machine: VirtualMachine, key: string, problem: ProviderProblem): Instance {
  const unknown = { names: [], addresses: [], type: "", isUndescribed: true } as const;
  return { ...unknown, key, id: providerID(scheme + key), title: titleOf(machine), problems: [problem] };
}

function unidentified(machine: VirtualMachine, formerKey: string | undefined): Instance {
  const { connection = "in an unknown state" } = machine;
  const text = `${titleOf(machine)} is ${connection}, and vCenter does not show its UUID. Its Node does not change. Repair the machine, or remove it from the inventory.`;
  return undescribed(machine, formerKey ?? machine.ref.value, errorProblem("IncompleteInstance", text));
}

function ambiguous(key: string, all: readonly VirtualMachine[]): Instance | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  const text = `The machines ${all.map(titleOf).join(" and ")} have the same BIOS UUID ${first.uuid}. Nodes with it do not change, and none is initialized. Give all but one another UUID (uuid.bios).`;
  return {
    ...undescribed(first, key, errorProblem(reasons.DuplicateUUID, text)),
    uuids: [key, swapped(key)],
  };
}

/** Of several machines with the same UUID, the only one that runs, because copies and restored machines are usually powered off. */
function onlyRunning(all: readonly VirtualMachine[]): VirtualMachine | undefined {
  const [first, second] =
    all.length === 1 ? all : all.filter(({ isTemplate, power }) => !isTemplate && power === "poweredOn");
  return second === undefined ? first : undefined;
}

/** One instance for each UUID. `formerKeys` are the earlier keys of machines without a UUID, by their reference. */
export function toInstances(
  machines: readonly VirtualMachine[],
  description: Description,
  locate: LocationOf,
  formerKeys: ReadonlyMap<string, string>,
): readonly Instance[] {
  const identified = machines.filter(({ uuid }) => uuid !== undefined && isUUID(uuid));
  const byKey = Map.groupBy(identified, keyOfMachine);
  return [
    ...[...byKey].flatMap(([key, all]) => {
      const machine = onlyRunning(all);
      if (machine?.uuid === undefined) return ambiguous(key, all) ?? [];
      return describe({ ...machine, uuid: machine.uuid }, description, locate);
    }),
    ...machines
      .filter((machine) => !identified.includes(machine))
      .map((machine) => unidentified(machine, formerKeys.get(machine.ref.value))),
  ];
}
