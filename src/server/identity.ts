// The users of the secure port as Kubernetes describes them, and how client certificates and front proxies identify them.

import { X509Certificate } from "node:crypto";
import { defined } from "../core/defined.ts";
import type { PeerCertificate } from "../platform/listener.ts";

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** `none`: the request has no credential of this kind. */
export type CredentialCheck =
  | { readonly kind: "user"; readonly user: User }
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly reason: string };

export const noCredential: CredentialCheck = { kind: "none" };

export const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

const authenticated = "system:authenticated";

export function withAuthenticatedGroup(user: User): User {
  return user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] };
}

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

/**
 * Verifies that a client certificate was issued by a trusted authority for client authentication and is currently valid, and reads the user
 * from it. TLS has already proved that the client holds the key.
 */
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

/** The last common name if there are several, as in Go. */
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

export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  /** The accepted common names of proxies; empty accepts all. */
  readonly allowedNames: readonly string[];
}

type Headers = readonly (readonly [name: string, value: string])[];

function valuesOf(headers: Headers, name: string): readonly string[] {
  return headers.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);
}

function firstOf(headers: Headers, names: readonly string[]): string {
  return names.map((name) => valuesOf(headers, name)[0] ?? "").find((value) => value !== "") ?? "";
}

/** Extra keys are percent-encoded, because header names contain no capitals or slashes. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/**
 * Reads the user from the headers that an authenticated front proxy sends. The cluster configures their names. Undefined when the headers
 * name no user.
 */
export function userInHeaders(headers: Headers, names: RequestHeaderNames): User | undefined {
  const name = firstOf(headers, names.username);
  if (name === "") return undefined;
  const uid = firstOf(headers, names.uid);
  const extra = new Map<string, readonly string[]>();
  for (const prefix of names.extraPrefix) {
    for (const [key, value] of headers) {
      if (!key.startsWith(prefix.toLowerCase())) continue;
      const extraKey = decoded(key.slice(prefix.length));
      extra.set(extraKey, [...(extra.get(extraKey) ?? []), value]);
    }
  }
  return {
    name,
    groups: names.group.flatMap((header) => valuesOf(headers, header)),
    ...defined({
      uid: uid === "" ? undefined : uid,
      extra: extra.size === 0 ? undefined : Object.fromEntries(extra),
    }),
  };
}
