// TLS certificates: uploaded certificates, and managed certificates whose issuance is an action.

import type { Ids } from "#ccm/testing";
import { Collection } from "../base/collection.ts";
import type { Labels } from "../base/listing.ts";

export interface Issued {
  readonly certificate: string;
  readonly fingerprint: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

export interface Certificate {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly labels: Labels;
  readonly type: "uploaded" | "managed";
  readonly domainNames: readonly string[];
  /** Null until the certificate is issued. */
  readonly issued: Issued | null;
  /** Only managed certificates have states other than `completed`. */
  readonly issuance: "pending" | "completed" | "failed";
  readonly error: { readonly code: string; readonly message: string } | null;
}

const lifetime = 90 * 24 * 3_600_000;

export class Certificates extends Collection<Certificate> {
  constructor(ids: Ids) {
    super("certificate", ids);
  }

  /** For tests, `add("cert")` is an uploaded certificate for example.com. */
  add(name: string, changes: Partial<Omit<Certificate, "id" | "name">> = {}): Certificate {
    return this.put({
      ...this.draft(name),
      type: "uploaded",
      domainNames: ["example.com"],
      issued: this.issue(),
      issuance: "completed",
      error: null,
      ...changes,
    });
  }

  /** The result of a successful issuance. The PEM is only an example. */
  issue(): Issued {
    const now = this.clock.now();
    return {
      certificate: "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n",
      fingerprint: "03:c7:55:9b:2a:d1:04:17:09:f6:d0:7f:18:34:63:d4:3e:5f",
      notBefore: new Date(now).toISOString(),
      notAfter: new Date(now + lifetime).toISOString(),
    };
  }
}
