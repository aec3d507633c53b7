// Verifies that a client certificate was issued by a trusted authority for client authentication and is currently valid, and
// reads the user from it. TLS has already proved that the client holds the key. Pure.

import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "../platform/listener.ts";
import type { User } from "./user.ts";

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
const clientPurposes = ["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"];

/** The certificates of a bundle; throws when one of them is malformed. */
export function readBundle(pem: string): readonly X509Certificate[] {
  return (pem.match(certificateBlock) ?? []).map((text) => new X509Certificate(text));
}

function isValidAt(certificate: X509Certificate, now: number): boolean {
  return now >= Date.parse(certificate.validFrom) && now <= Date.parse(certificate.validTo);
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function hasTrustedChain(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  now: number,
): boolean {
  if (authorities.some((authority) => isValidAt(authority, now) && isSignedBy(certificate, authority))) {
    return true;
  }
  const next = intermediates.findIndex(
    (one) => one.ca && one.fingerprint256 !== certificate.fingerprint256 && isSignedBy(certificate, one),
  );
  const issuer = intermediates[next];
  if (issuer === undefined || !isValidAt(issuer, now)) return false;
  return hasTrustedChain(issuer, intermediates.toSpliced(next, 1), authorities, now);
}

export type VerifiedCertificate =
  | { readonly kind: "verified"; readonly certificate: X509Certificate }
  | { readonly kind: "invalid"; readonly reason: string };

export function verifyClient(
  { chain }: PeerCertificate,
  authorities: readonly X509Certificate[],
  now: number,
): VerifiedCertificate {
  const invalid = (reason: string) => ({ kind: "invalid", reason }) as const;
  let certificates: readonly X509Certificate[];
  try {
    certificates = chain.map((der) => new X509Certificate(der));
  } catch {
    return invalid("the client certificate is malformed");
  }
  const [certificate, ...intermediates] = certificates;
  if (certificate === undefined) return invalid("the client sent no certificate");
  if (!isValidAt(certificate, now)) return invalid("the client certificate has expired or is not valid yet");
  const purposes: readonly string[] | undefined = certificate.keyUsage;
  if (purposes !== undefined && !purposes.some((purpose) => clientPurposes.includes(purpose))) {
    return invalid("the client certificate is not valid for client authentication");
  }
  return hasTrustedChain(certificate, intermediates, authorities, now)
    ? { kind: "verified", certificate }
    : invalid("the client certificate was issued by an unknown authority");
}

function listOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : value === undefined ? [] : [value]).filter(
    (item) => typeof item === "string",
  );
}

/** The last one if there are several, as in Go. */
export function commonNameOf(certificate: X509Certificate): string | undefined {
  return listOf(
    (certificate.toLegacyObject().subject as unknown as Readonly<Record<string, unknown>>)["CN"],
  ).at(-1);
}

/** The common name is the user name, and each organization is a group. */
export function userOf(certificate: X509Certificate): User | undefined {
  const name = commonNameOf(certificate);
  if (name === undefined || name === "") return undefined;
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, unknown>>;
  return { name, groups: listOf(subject["O"]) };
}
