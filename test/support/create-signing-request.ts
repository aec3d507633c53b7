// Creates certificate signing requests (PKCS#10) as kubelets do, and forged ones.

import { generateKeyPairSync, sign } from "node:crypto";
import { addressBytes } from "../../src/pki/certificate.ts";
import {
  type Bytes,
  bits,
  der,
  implicit,
  objectID,
  octets,
  pem,
  sequence,
  setOf,
  smallInteger,
  utf8,
} from "../../src/pki/der.ts";

export interface SigningRequestOptions {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly addresses?: readonly string[];
  readonly uris?: readonly string[];
  readonly emails?: readonly string[];
  /** Further extensions, each encoded. */
  readonly extensions?: readonly Bytes[];
  /** Further attributes of the subject, by object id. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Signs with another key than the one in the request. */
  readonly isForged?: boolean;
}

const ascii = (text: string): Bytes => Uint8Array.from(Buffer.from(text, "latin1"));
const attribute = (type: string, value: string): Bytes => setOf(sequence(objectID(type), utf8(value)));

export const extensionOf = (type: string, value: Bytes): Bytes => sequence(objectID(type), octets(value));

/** The DER of the request. */
export function signingRequestBytes(options: SigningRequestOptions): Bytes {
  const { commonName, organizations = ["system:nodes"], extensions = [], attributes = {} } = options;
  const { dnsNames = [], addresses = [], uris = [], emails = [], isForged = false } = options;
  const keys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { publicKey, privateKey } = keys();
  const names = [
    ...dnsNames.map((name) => implicit(2, ascii(name))),
    ...addresses.map((address) => implicit(7, addressBytes(address))),
    ...uris.map((uri) => implicit(6, ascii(uri))),
    ...emails.map((email) => implicit(1, ascii(email))),
  ];
  const all = [...(names.length === 0 ? [] : [extensionOf("2.5.29.17", sequence(...names))]), ...extensions];
  const requested =
    all.length === 0 ? [] : [sequence(objectID("1.2.840.113549.1.9.14"), setOf(sequence(...all)))];
  const info = sequence(
    smallInteger(0),
    sequence(
      ...organizations.map((organization) => attribute("2.5.4.10", organization)),
      ...Object.entries(attributes).map(([type, value]) => attribute(type, value)),
      attribute("2.5.4.3", commonName),
    ),
    Uint8Array.from(publicKey.export({ type: "spki", format: "der" })),
    der(0xa0, ...requested),
  );
  const signature = Uint8Array.from(sign("sha256", info, isForged ? keys().privateKey : privateKey));
  return sequence(info, sequence(objectID("1.2.840.10045.4.3.2")), bits(signature));
}

export const signingRequest = (options: SigningRequestOptions): string =>
  pem("CERTIFICATE REQUEST", signingRequestBytes(options));
