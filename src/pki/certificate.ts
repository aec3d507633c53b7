// Encodes and signs one X.509 version 3 certificate with EC P-256 keys. `authority.ts` decides which certificates are issued.

import { createHash, type KeyObject, sign } from "node:crypto";
import { isIP } from "node:net";
import { parseGroups } from "../core/ip-groups.ts";
import {
  type Bytes,
  bits,
  boolean,
  der,
  explicit,
  implicit,
  integer,
  objectID,
  octets,
  pem,
  sequence,
  setOf,
  smallInteger,
  time,
  utf8,
} from "./der.ts";

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export type Purpose = "authority" | "server" | "client";

export interface CertificateRequest {
  readonly subject: Subject;
  readonly issuer: Subject;
  readonly publicKey: KeyObject;
  readonly issuerKey: KeyObject;
  readonly issuerPublicKey: KeyObject;
  readonly serial: Uint8Array;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly purpose: Purpose;
  /** DNS names and IP addresses. */
  readonly names?: readonly string[];
}

const ecdsaWithSha256 = sequence(objectID("1.2.840.10045.4.3.2"));
const usage = { authority: [0x06, 1], server: [0x80, 7], client: [0x80, 7] } as const;
const extendedUsage = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

const attribute = (type: string, value: string): Bytes => setOf(sequence(objectID(type), utf8(value)));

function nameOf({ commonName, organizations = [] }: Subject): Bytes {
  return sequence(
    ...organizations.map((organization) => attribute("2.5.4.10", organization)),
    attribute("2.5.4.3", commonName),
  );
}

/** 4 or 16 bytes. */
export function addressBytes(address: string): Bytes {
  const groups = parseGroups(address, "strict");
  if (groups === undefined) throw new TypeError(`Expected an IP address, got ${JSON.stringify(address)}.`);
  const own = isIP(address) === 4 ? groups.slice(-2) : groups;
  return Uint8Array.from(own.flatMap((group) => [group >> 8, group & 255]));
}

function alternativeName(name: string): Bytes {
  return isIP(name) === 0 ? implicit(2, new TextEncoder().encode(name)) : implicit(7, addressBytes(name));
}

function extension(type: string, isCritical: boolean, value: Bytes): Bytes {
  return sequence(objectID(type), ...(isCritical ? [boolean(true)] : []), octets(value));
}

function keyIdentifier(key: KeyObject): Bytes {
  return Uint8Array.from(
    createHash("sha1")
      .update(key.export({ type: "spki", format: "der" }))
      .digest(),
  );
}

function extensions({ purpose, names = [], publicKey, issuerPublicKey }: CertificateRequest): Bytes {
  const isAuthority = purpose === "authority";
  const [flags, unused] = usage[purpose];
  const items = [
    extension("2.5.29.19", true, isAuthority ? sequence(boolean(true)) : sequence()),
    extension("2.5.29.15", true, bits(Uint8Array.of(flags), unused)),
  ];
  if (!isAuthority) items.push(extension("2.5.29.37", false, sequence(objectID(extendedUsage[purpose]))));
  if (names.length > 0) items.push(extension("2.5.29.17", false, sequence(...names.map(alternativeName))));
  items.push(extension("2.5.29.14", false, octets(keyIdentifier(publicKey))));
  items.push(extension("2.5.29.35", false, sequence(implicit(0, keyIdentifier(issuerPublicKey)))));
  return sequence(...items);
}

/** The certificate as PEM. */
export function signCertificate(request: CertificateRequest): string {
  const { subject, issuer, publicKey, issuerKey, serial, notBefore, notAfter } = request;
  const body = sequence(
    explicit(0, smallInteger(2)),
    integer(serial),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(time(notBefore), time(notAfter)),
    nameOf(subject),
    Uint8Array.from(publicKey.export({ type: "spki", format: "der" })),
    explicit(3, extensions(request)),
  );
  const signature = Uint8Array.from(sign("sha256", body, issuerKey));
  return pem("CERTIFICATE", der(0x30, body, ecdsaWithSha256, bits(signature)));
}
