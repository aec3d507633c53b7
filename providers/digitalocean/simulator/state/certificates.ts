// TLS certificates: uploaded ones, and Let's Encrypt certificates, which are renewed under a new id.

import { type Ids, Records, type Stored } from "#ccm/testing";

export interface Certificate extends Stored {
  readonly id: string;
  readonly type: "custom" | "lets_encrypt";
  readonly state: "pending" | "verified" | "error";
  readonly dns_names: readonly string[];
  readonly not_after: string;
  readonly sha1_fingerprint: string;
  readonly created_at: string;
}

const lifetime = 90 * 24 * 3_600_000;

export class Certificates extends Records<Certificate> {
  readonly #ids: Ids;

  constructor(ids: Ids) {
    super(ids.clock);
    this.#ids = ids;
  }

  /** Adds a certificate that is verified unless the changes have a different state. */
  add(name: string, changes: Partial<Omit<Certificate, "id" | "name">> = {}): Certificate {
    const id = this.#ids.uuid();
    const end = new Date(this.clock.now() + lifetime).toISOString();
    return this.put({
      id,
      name,
      type: "custom",
      state: "verified",
      dns_names: ["example.com"],
      not_after: end,
      sha1_fingerprint: id.replaceAll("-", "").padEnd(40, "0"),
      created_at: this.#ids.now,
      ...changes,
    });
  }
}
