// The generated certificate of a port without a configured certificate. An authority of this process issues it and renews it
// before it expires. With a folder, both are stored there under upstream's file names, and loaded at the next start.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import { type Authority, createAuthority } from "../pki/authority.ts";
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { KeyPair } from "../platform/listener.ts";
import type { Random } from "../platform/random.ts";

const day = 86_400_000;
const lifetime: Milliseconds = milliseconds(365 * day);
/** The remaining validity at which the certificate is renewed. */
const renewBefore: Milliseconds = milliseconds(30 * day);

/** As in upstream: localhost and, unless the port listens on all addresses, the bind address. */
export function ownNames(bindAddress: string, more: readonly string[] = []): readonly string[] {
  const isUnspecified = bindAddress === "0.0.0.0" || bindAddress === "::";
  return [...new Set(["localhost", "127.0.0.1", ...(isUnspecified ? [] : [bindAddress]), ...more])];
}

export function needsRenewal(cert: string, now: number): boolean {
  try {
    return Date.parse(new X509Certificate(cert).validTo) - now < renewBefore;
  } catch {
    return true;
  }
}

/** The last certificate of a PEM chain, which is its authority. */
export function lastCertificate(chain: string): string | undefined {
  return /(-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN)[\s\S])+)$/.exec(chain)?.[1];
}

export interface OwnCertificate {
  readonly authority: Authority;
  readonly pair: KeyPair;
}

/** Issues a certificate by the given authority, or by a new one. */
export function makeOwnCertificate(
  names: readonly string[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  existing?: Authority,
): OwnCertificate {
  const second = Math.floor(clock.now() / 1000);
  const authority = existing ?? createAuthority(`localhost-ca@${second}`, clock, random);
  const { cert, key } = authority.issueServer(`localhost@${second}`, names, lifetime);
  // The served chain includes the authority, for clients that pin it.
  return { authority, pair: { cert: cert + authority.cert, key } };
}

export interface CertificateFolder {
  readonly folder: string;
  /** The base name of the files: "cloud-controller-manager", as in upstream. */
  readonly name: string;
  readonly files: Files;
}

async function readOwnPair({ folder, files }: CertificateFolder, name: string): Promise<KeyPair | undefined> {
  try {
    const [cert, key] = await Promise.all([
      files.read(join(folder, `${name}.crt`)),
      files.read(join(folder, `${name}.key`)),
    ]);
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)) ? { cert, key } : undefined;
  } catch {
    return undefined;
  }
}

/** The stored certificate, unless it needs renewal. */
export async function loadCertificate(options: CertificateFolder, now: number): Promise<KeyPair | undefined> {
  const pair = await readOwnPair(options, options.name);
  return pair === undefined || needsRenewal(pair.cert, now) ? undefined : pair;
}

/** Whether the authority outlives a certificate that it issues now. */
function outlivesCertificate(cert: string, now: number): boolean {
  return Date.parse(new X509Certificate(cert).validTo) - now > lifetime;
}

/** Renewals use the same authority while possible, so that a configured `caBundle` stays valid. */
export function usableAuthority(authority: Authority | undefined, now: number): Authority | undefined {
  return authority !== undefined && outlivesCertificate(authority.cert, now) ? authority : undefined;
}

/** The stored authority, if it is usable. */
export async function loadAuthority(
  options: CertificateFolder,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Authority | undefined> {
  const pair = await readOwnPair(options, `${options.name}-ca`);
  if (pair === undefined) return undefined;
  const { subject } = new X509Certificate(pair.cert);
  const commonName = /^CN=(.+)$/m.exec(subject)?.[1];
  return commonName === undefined
    ? undefined
    : usableAuthority(createAuthority(commonName, clock, random, pair), clock.now());
}

export async function storeCertificate(
  { folder, name, files }: CertificateFolder,
  { authority, pair }: OwnCertificate,
): Promise<void> {
  await files.write(join(folder, `${name}-ca.key`), authority.key(), 0o600);
  await files.write(join(folder, `${name}-ca.crt`), authority.cert, 0o644);
  await files.write(join(folder, `${name}.key`), pair.key, 0o600);
  await files.write(join(folder, `${name}.crt`), pair.cert, 0o644);
}
