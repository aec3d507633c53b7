// Whether a client's certificate was signed by one of our authorities, for this purpose and for now, and whom it names.
// That the client holds its key was proved by TLS. Pure: the moment comes in.

import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "../platform/listener.ts";
import type { User } from "./user.ts";

const block = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
const clientPurposes = ["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"];

/** The certificates of a bundle; throws when one of them cannot be read. */
export function readBundle(pem: string): readonly X509Certificate[] {
  return (pem.match(block) ?? []).map((text) => new X509Certificate(text));
}

function holdsAt(certificate: X509Certificate, now: number): boolean {
  return now >= Date.parse(certificate.validFrom) && now <= Date.parse(certificate.validTo);
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function leadsTo(
  certificate: X509Certificate,
  between: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  now: number,
): boolean {
  if (authorities.some((authority) => holdsAt(authority, now) && isSignedBy(certificate, authority))) {
    return true;
  }
  const next = between.findIndex(
    (one) => one.ca && one.fingerprint256 !== certificate.fingerprint256 && isSignedBy(certificate, one),
  );
  const issuer = between[next];
  if (issuer === undefined || !holdsAt(issuer, now)) return false;
  return leadsTo(issuer, between.toSpliced(next, 1), authorities, now);
}

export type VerifiedCertificate =
  | { readonly kind: "verified"; readonly certificate: X509Certificate }
  | { readonly kind: "refused"; readonly why: string };

export function verifyClient(
  { chain }: PeerCertificate,
  authorities: readonly X509Certificate[],
  now: number,
): VerifiedCertificate {
  const refused = (why: string) => ({ kind: "refused", why }) as const;
  let certificates: readonly X509Certificate[];
  try {
    certificates = chain.map((der) => new X509Certificate(der));
  } catch {
    return refused("the client certificate cannot be read");
  }
  const [certificate, ...between] = certificates;
  if (certificate === undefined) return refused("the client showed no certificate");
  if (!holdsAt(certificate, now)) return refused("the client certificate is expired or not valid yet");
  const purposes: readonly string[] | undefined = certificate.keyUsage;
  if (purposes !== undefined && !purposes.some((purpose) => clientPurposes.includes(purpose))) {
    return refused("the client certificate is not one for clients");
  }
  return leadsTo(certificate, between, authorities, now)
    ? { kind: "verified", certificate }
    : refused("the client certificate was signed by an authority that is not known here");
}

function listOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : value === undefined ? [] : [value]).filter(
    (each) => typeof each === "string",
  );
}

/** The common name is the user, each organization a group. Of several common names the last one counts, as in Go. */
export function commonNameOf(certificate: X509Certificate): string | undefined {
  return listOf(
    (certificate.toLegacyObject().subject as unknown as Readonly<Record<string, unknown>>)["CN"],
  ).at(-1);
}

export function userOf(certificate: X509Certificate): User | undefined {
  const name = commonNameOf(certificate);
  if (name === undefined || name === "") return undefined;
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, unknown>>;
  return { name, groups: listOf(subject["O"]) };
}
