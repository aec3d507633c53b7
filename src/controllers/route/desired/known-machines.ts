// What the inventory knows of the machines that routes lead to, without asking anybody.

import type { Inventory } from "../../../cloud/inventory.ts";
import type { Node } from "../../../kube/objects.ts";
import { identityOf } from "../../node-facts.ts";
import type { DesiredRoutesInput, MachineAnswer } from "./plan-desired.ts";

export function createKnownMachines(inventory: Inventory): Pick<DesiredRoutesInput, "machineOf" | "keysOf"> {
  return {
    machineOf: (node: Node): MachineAnswer => {
      const answer = inventory.check(identityOf(node));
      if (answer.kind === "foreign") return { kind: "foreign" };
      if (answer.kind !== "exists") return { kind: "unknown" };
      const { key, handles } = answer.instance;
      return {
        kind: "found",
        machine: { source: answer.source, key, ...(handles !== undefined && { handles }) },
      };
    },
    /** By its provider id alone, in every source that knows such ids. */
    keysOf: (node: Node): readonly string[] => {
      const { providerID } = node.spec;
      if (providerID === undefined || providerID === "") return [];
      return inventory.sources.flatMap(({ source }) => source.keyOf(providerID) ?? []);
    },
  };
}
