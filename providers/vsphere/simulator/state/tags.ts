// The tags of a simulated vCenter.

import type { Ref } from "./inventory.ts";

export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface SimulatedTag extends Named {
  readonly category: string;
}

export class TagStore {
  readonly categories = new Map<string, Named>();
  readonly tags = new Map<string, SimulatedTag>();
  /** Ids of tags by the value of an object. */
  readonly attached = new Map<string, string[]>();

  addCategory(name: string): Named {
    const id = `urn:vmomi:InventoryServiceCategory:${name}:GLOBAL`;
    const category = { id, name };
    this.categories.set(id, category);
    return category;
  }

  addTag(name: string, { id: category }: Named): SimulatedTag {
    const id = `urn:vmomi:InventoryServiceTag:${name}:GLOBAL`;
    const tag = { id, name, category };
    this.tags.set(id, tag);
    return tag;
  }

  attach({ id }: Named, { value }: Ref): void {
    this.attached.set(value, [...(this.attached.get(value) ?? []), id]);
  }

  detachAll({ value }: Ref): void {
    this.attached.delete(value);
  }
}
