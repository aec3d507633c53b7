// The records of one kind of resource in a project.

import { type Ids, Records, type Stored } from "#ccm/testing";
import { notFound, Refusal } from "./answer.ts";

export type ResourceType = "server" | "network" | "load_balancer" | "certificate" | "volume";

export interface ResourceRef {
  readonly id: number;
  readonly type: ResourceType;
}

export class Collection<T extends Stored & { readonly id: number }> extends Records<T> {
  readonly kind: ResourceType;
  readonly #ids: Ids;

  constructor(kind: ResourceType, ids: Ids) {
    super(ids.clock);
    this.kind = kind;
    this.#ids = ids;
  }

  /** The kind as in the API's messages, for example `load balancer`. */
  get title(): string {
    return this.kind.replaceAll("_", " ");
  }

  /** The common fields of new records. */
  protected draft(name: string) {
    return { id: this.#ids.next(), name, created: this.#ids.now, labels: {} };
  }

  override missing(which: number | string): Error {
    return notFound(this.kind, which);
  }

  /** Throws a Refusal if another record has the name. */
  refuseUsedName(name: string, id?: number): void {
    if (this.list().some((other) => other.name === name && other.id !== id))
      throw new Refusal("uniqueness_error", `${this.title} name is already used`);
  }
}
