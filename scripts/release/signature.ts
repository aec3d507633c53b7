// Signs the checksums with ECDSA on P-256, which every version of OpenSSL and LibreSSL verifies.

import {
  createPrivateKey,
  createPublicKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { ScriptError } from "../command-line.ts";

/** Writes the private key to the path, and the public key next to it with the ending .pub. */
export function makeKey(path: string): string {
  if (existsSync(path))
    throw new ScriptError(`${path} exists. A key is never overwritten; choose another path.`);
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  writeFileSync(path, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
  const shared = `${path}.pub`;
  writeFileSync(shared, publicKey.export({ type: "spki", format: "pem" }));
  return shared;
}

/** Rejects a tag before anything is built if users could not verify its release. */
export function requirePublicKey(tag: string | undefined, published: string): void {
  if (tag === undefined || existsSync(published)) return;
  throw new ScriptError(
    `The release ${tag} needs deploy/release-key.pub, with which users verify it, and there is none. Nothing is built. Make a key with "npm run release -- --make-key <path>", commit the public key under that name, and tag again.`,
  );
}

/** The private key in PEM form, checked against the published public key if there is one. */
export function readKey(pem: string, origin: string, published: string): KeyObject {
  const key = ((): KeyObject => {
    try {
      return createPrivateKey(pem);
    } catch {
      throw new ScriptError(
        `${origin} is not a private key in PEM form. To make one: npm run release -- --make-key <path>`,
      );
    }
  })();
  if (key.asymmetricKeyType !== "ec") {
    throw new ScriptError(
      `${origin} is an ${key.asymmetricKeyType} key, but releases are signed with an EC key on P-256.`,
    );
  }
  if (
    existsSync(published) &&
    publicPem(key) !== publicPem(createPublicKey(readFileSync(published, "utf8")))
  ) {
    throw new ScriptError(
      `${origin} does not belong to deploy/release-key.pub, with which users verify releases. Nothing is built.`,
    );
  }
  return key;
}

function publicPem(key: KeyObject): string {
  const shared = key.type === "public" ? key : createPublicKey(key);
  return shared.export({ type: "spki", format: "pem" }).toString();
}

export function signed(content: Uint8Array, key: KeyObject): Uint8Array {
  return createSign("sha256").update(content).sign(key);
}
