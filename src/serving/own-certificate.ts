// A certificate for those who gave none: an authority in memory signs one for the names of this process, again and again
// before it ends. With a folder, it is kept there under upstream's names and found again at the next start.

import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import { createAuthority } from "../pki/authority.ts";
import type { Clock } from "../seams/clock.ts";
import type { Files } from "../seams/files.ts";
import type { KeyPair } from "../seams/listener.ts";
import type { Random } from "../seams/random.ts";

const day = 86_400_000;
export const ownLifetime: Milliseconds = milliseconds(365 * day);
/** Made anew when this much is left: nobody should meet one that ends in the middle of a night. */
export const renewBefore: Milliseconds = milliseconds(30 * day);

/** Upstream's: localhost and, unless it listens everywhere, the address it listens on. */
export const ownNames = (bindAddress: string, more: readonly string[] = []): readonly string[] => {
  const isEverywhere = bindAddress === "0.0.0.0" || bindAddress === "::";
  return [...new Set(["localhost", "127.0.0.1", ...(isEverywhere ? [] : [bindAddress]), ...more])];
};

export const isDue = (cert: string, now: number): boolean => {
  try {
    return Date.parse(new X509Certificate(cert).validTo) - now < renewBefore;
  } catch {
    return true;
  }
};

export interface OwnCertificate {
  /** PEM of the authority that signed it. */
  readonly ca: string;
  readonly pair: KeyPair;
}

export const makeOwnCertificate = (
  names: readonly string[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): OwnCertificate => {
  const authority = createAuthority(`localhost-ca@${Math.floor(clock.now() / 1000)}`, clock, random);
  const { cert, key } = authority.issueServer(
    `localhost@${Math.floor(clock.now() / 1000)}`,
    names,
    ownLifetime,
  );
  // The whole chain is served: who pins the authority needs nothing else.
  return { ca: authority.cert, pair: { cert: cert + authority.cert, key } };
};

export interface KeepOptions {
  readonly folder: string;
  /** Upstream's: "cloud-controller-manager". */
  readonly name: string;
  readonly files: Files;
}

/** What lies in the folder, if it is still good for a while. */
export const findKept = async (
  { folder, name, files }: KeepOptions,
  now: number,
): Promise<KeyPair | undefined> => {
  try {
    const [cert, key] = await Promise.all([
      files.read(join(folder, `${name}.crt`)),
      files.read(join(folder, `${name}.key`)),
    ]);
    return isDue(cert, now) ? undefined : { cert, key };
  } catch {
    return undefined;
  }
};

export const keep = async ({ folder, name, files }: KeepOptions, { cert, key }: KeyPair): Promise<void> => {
  await files.write(join(folder, `${name}.key`), key, 0o600);
  await files.write(join(folder, `${name}.crt`), cert, 0o644);
};
