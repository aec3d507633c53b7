// Volumes: each is in one location and attached to at most one server.

import type { Ids } from "#ccm/testing";
import { Collection } from "../base/collection.ts";
import type { Labels } from "../base/listing.ts";

export interface Volume {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly labels: Labels;
  readonly status: "creating" | "available";
  /** In GiB. */
  readonly size: number;
  /** Name of the location. */
  readonly location: string;
  readonly server: number | null;
  readonly isProtected: boolean;
}

export class Volumes extends Collection<Volume> {
  constructor(ids: Ids) {
    super("volume", ids);
  }

  /** For tests, `add("data")` is a volume of 10 GiB in `fsn1`. */
  add(name: string, changes: Partial<Omit<Volume, "id" | "name">> = {}): Volume {
    return this.put({
      ...this.draft(name),
      status: "available",
      size: 10,
      location: "fsn1",
      server: null,
      isProtected: false,
      ...changes,
    });
  }

  /** The volumes of a deleted server stay. */
  detachFrom(server: number): void {
    for (const volume of this.list()) if (volume.server === server) this.change(volume.id, { server: null });
  }
}
