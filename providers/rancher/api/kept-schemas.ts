// Keeps the schemas of the environment until they lack a type: the key may have got other permissions.

import { type Call, resolveOnce } from "#ccm";
import type { Schemas } from "./schema.ts";

type Read = (call: Call) => Promise<Schemas>;

export class KeptSchemas {
  readonly #read: Read;
  #current: Read;

  constructor(read: Read) {
    this.#read = read;
    this.#current = resolveOnce(read);
  }

  get(call: Call): Promise<Schemas> {
    return this.#current(call);
  }

  /** The next call reads them again. */
  forget(): void {
    this.#current = resolveOnce(this.#read);
  }
}
