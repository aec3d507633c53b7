// Which Nodes have a machine, by their provider ids. A joining Node never gets an id that another Node has.

import type { Inventory } from "../cloud/inventory/instances.ts";
import type { ProviderID } from "../core/brand.ts";
import type { Node } from "../kube/objects.ts";
import type { Index } from "../kube/watch/store.ts";
import type { NodeStore } from "./node-deps.ts";
import { providerIDOf } from "./node-facts.ts";

export interface MachineOwnersDeps {
  readonly nodes: NodeStore;
  /** The inventory of the current session. */
  readonly inventory: Inventory;
}

export class MachineOwners {
  readonly #deps: MachineOwnersDeps;
  readonly #owners: Index<Node>;
  /** The joining Nodes that get a machine's provider id, until the watch shows it. */
  readonly #claims = new Map<string, Node>();
  /** The machines that each of these Nodes has claimed. */
  readonly #claimed = new Map<string, readonly string[]>();

  /** Follows the Nodes for the life of the process. */
  constructor(deps: MachineOwnersDeps) {
    this.#deps = deps;
    this.#owners = deps.nodes.index(({ spec }) => deps.inventory.machineKeysOf(spec.providerID ?? ""));
    deps.nodes.subscribe(({ key, after }) => {
      const claimed = this.#claimed.get(key);
      if (claimed === undefined) return;
      const isOpen = after !== undefined && providerIDOf(after) === undefined;
      const [first = ""] = claimed;
      if (isOpen && this.#claims.get(first)?.metadata.uid === after.metadata.uid) return;
      for (const machine of claimed) this.#claims.delete(machine);
      this.#claimed.delete(key);
    });
  }

  /** The Nodes with this provider id in any spelling. */
  of(id: ProviderID): readonly Node[] {
    return this.#deps.inventory.machineKeysOf(id).flatMap((key) => this.#owners.get(key));
  }

  /** Reserves the provider id for this Node. Returns the other Node that has it or is getting it. */
  claim(id: ProviderID, node: Node): Node | undefined {
    const keys = this.#deps.inventory.machineKeysOf(id);
    const claims = keys.flatMap((key) => this.#claims.get(key) ?? []);
    const other = [...this.of(id), ...claims].find(({ metadata }) => metadata.name !== node.metadata.name);
    if (other !== undefined) return other;
    for (const key of keys) this.#claims.set(key, node);
    this.#claimed.set(node.metadata.name, keys);
    return undefined;
  }
}
