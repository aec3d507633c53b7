// A certificate for those who gave none: an authority of our own signs one for the names of this process, again and again
// before it ends. With a folder, both are kept there, the certificate under upstream's names, and found again at the next start.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import { type Authority, createAuthority } from "../pki/authority.ts";
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { KeyPair } from "../platform/listener.ts";
import type { Random } from "../platform/random.ts";

const day = 86_400_000;
const ownLifetime: Milliseconds = milliseconds(365 * day);
/** Made anew when this much is left: nobody should meet one that ends in the middle of a night. */
const renewBefore: Milliseconds = milliseconds(30 * day);

/** Upstream's: localhost and, unless it listens everywhere, the address it listens on. */
export function ownNames(bindAddress: string, more: readonly string[] = []): readonly string[] {
  const isEverywhere = bindAddress === "0.0.0.0" || bindAddress === "::";
  return [...new Set(["localhost", "127.0.0.1", ...(isEverywhere ? [] : [bindAddress]), ...more])];
}

export function isDue(cert: string, now: number): boolean {
  try {
    return Date.parse(new X509Certificate(cert).validTo) - now < renewBefore;
  } catch {
    return true;
  }
}

/** Of a chain in PEM: the one that vouches for the rest. */
export function lastCertificate(chain: string): string | undefined {
  return /(-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN)[\s\S])+)$/.exec(chain)?.[1];
}

export interface OwnCertificate {
  readonly authority: Authority;
  readonly pair: KeyPair;
}

/** By an authority that was kept, or by a new one. */
export function makeOwnCertificate(
  names: readonly string[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  known?: Authority,
): OwnCertificate {
  const second = Math.floor(clock.now() / 1000);
  const authority = known ?? createAuthority(`localhost-ca@${second}`, clock, random);
  const { cert, key } = authority.issueServer(`localhost@${second}`, names, ownLifetime);
  // The whole chain is served: who pins the authority needs nothing else.
  return { authority, pair: { cert: cert + authority.cert, key } };
}

export interface KeepOptions {
  readonly folder: string;
  /** Upstream's: "cloud-controller-manager". */
  readonly name: string;
  readonly files: Files;
}

async function readKept({ folder, files }: KeepOptions, name: string): Promise<KeyPair | undefined> {
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

/** What lies in the folder, if it is still good for a while. */
export async function findKept(options: KeepOptions, now: number): Promise<KeyPair | undefined> {
  const pair = await readKept(options, options.name);
  return pair === undefined || isDue(pair.cert, now) ? undefined : pair;
}

/** Whether what it signs now is good for its whole life. */
function outlives(cert: string, now: number): boolean {
  return Date.parse(new X509Certificate(cert).validTo) - now > ownLifetime;
}

/** The same authority signs again, so that those who trust it need not be told: `caBundle` above all. */
export function stillGood(authority: Authority | undefined, now: number): Authority | undefined {
  return authority !== undefined && outlives(authority.cert, now) ? authority : undefined;
}

/** The authority in the folder, beside the certificate. */
export async function findKeptAuthority(
  options: KeepOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Authority | undefined> {
  const pair = await readKept(options, `${options.name}-ca`);
  if (pair === undefined) return undefined;
  const { subject } = new X509Certificate(pair.cert);
  const commonName = /^CN=(.+)$/m.exec(subject)?.[1];
  return commonName === undefined
    ? undefined
    : stillGood(createAuthority(commonName, clock, random, pair), clock.now());
}

export async function keep(
  { folder, name, files }: KeepOptions,
  { authority, pair }: OwnCertificate,
): Promise<void> {
  await files.write(join(folder, `${name}-ca.key`), authority.key(), 0o600);
  await files.write(join(folder, `${name}-ca.crt`), authority.cert, 0o644);
  await files.write(join(folder, `${name}.key`), pair.key, 0o600);
  await files.write(join(folder, `${name}.crt`), pair.cert, 0o644);
}
