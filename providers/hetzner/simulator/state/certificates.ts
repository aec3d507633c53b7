// TLS certificates: uploaded ones, and managed ones whose issuance takes an action.

import type { Clock } from "#ccm/testing";
import { notFound } from "../base/answer.ts";
import { Collection } from "../base/collection.ts";
import type { Labels } from "../base/labels.ts";
import type { Ids } from "./ids.ts";

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
  /** Null until it is issued. */
  readonly issued: Issued | null;
  /** Of managed certificates. */
  readonly issuance: "pending" | "completed" | "failed";
  readonly error: { readonly code: string; readonly message: string } | null;
}

const lifetime = 90 * 24 * 3_600_000;

export class Certificates extends Collection<Certificate> {
  readonly #time: Clock;
  readonly #ids: Ids;

  constructor(clock: Clock, ids: Ids) {
    super(clock);
    this.#time = clock;
    this.#ids = ids;
  }

  /** For tests, `add("cert")` is an uploaded certificate for example.com. */
  add(name: string, changes: Partial<Omit<Certificate, "id" | "name">> = {}): Certificate {
    return this.put({
      id: this.#ids.next(),
      name,
      created: new Date(this.#time.now()).toISOString(),
      labels: {},
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
    const now = this.#time.now();
    return {
      certificate: "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n",
      fingerprint: "03:c7:55:9b:2a:d1:04:17:09:f6:d0:7f:18:34:63:d4:3e:5f",
      notBefore: new Date(now).toISOString(),
      notAfter: new Date(now + lifetime).toISOString(),
    };
  }

  /** The certificate with this id or name. */
  existing(which: number | string): Certificate {
    const certificate = this.find(which);
    if (certificate === undefined) throw notFound("certificate", which);
    return certificate;
  }

  change(which: number | string, changes: Partial<Certificate>): Certificate {
    const certificate = this.existing(which);
    return this.put({ ...certificate, ...changes, id: certificate.id });
  }
}
