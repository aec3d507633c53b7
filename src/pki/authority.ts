// An in-memory certificate authority: creates keys and issues certificates for servers and clients. Does not support revocation.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { type Purpose, type Subject, signCertificate } from "./certificate.ts";

export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

export interface Authority {
  /** PEM, for the trust store of clients. */
  readonly cert: string;
  /** PEM of its private key, to recreate the authority later. */
  key(): string;
  issueServer(commonName: string, names: readonly string[], lifetime?: Milliseconds): KeyAndCertificate;
  issueClient(subject: Subject, lifetime?: Milliseconds): KeyAndCertificate;
}

const day = 86_400_000;
const year = milliseconds(365 * day);
// Certificates are valid from an hour before their creation, because clocks differ.
const backdate = 3_600_000;

const generateKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const keyText = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

/** Sixteen bytes; the first is neither zero nor negative. */
function makeSerial(random: Random): Uint8Array {
  const bytes = Buffer.from(random.uuid().replaceAll("-", ""), "hex");
  return Uint8Array.from(bytes, (byte, index) => (index === 0 ? (byte & 0x3f) | 0x40 : byte));
}

const keysOf = (key: string) => ({ privateKey: createPrivateKey(key), publicKey: createPublicKey(key) });

/** A new authority, or the `stored` authority with the same name. */
export function createAuthority(
  commonName: string,
  clock: Clock,
  random: Random,
  stored?: KeyAndCertificate,
): Authority {
  const own = stored === undefined ? generateKeys() : keysOf(stored.key);
  const issuer: Subject = { commonName };
  const issue = (
    subject: Subject,
    publicKey: KeyObject,
    purpose: Purpose,
    lifetime: Milliseconds,
    names: readonly string[] = [],
  ): string =>
    signCertificate({
      subject,
      issuer,
      publicKey,
      issuerKey: own.privateKey,
      issuerPublicKey: own.publicKey,
      serial: makeSerial(random),
      notBefore: clock.now() - backdate,
      notAfter: clock.now() + lifetime,
      purpose,
      names,
    });
  return {
    cert: stored?.cert ?? issue(issuer, own.publicKey, "authority", milliseconds(10 * year)),
    key: () => keyText(own.privateKey),
    issueServer: (name, names, lifetime = year) => {
      const { publicKey, privateKey } = generateKeys();
      const cert = issue({ commonName: name }, publicKey, "server", lifetime, names);
      return { key: keyText(privateKey), cert };
    },
    issueClient: (subject, lifetime = year) => {
      const { publicKey, privateKey } = generateKeys();
      return { key: keyText(privateKey), cert: issue(subject, publicKey, "client", lifetime) };
    },
  };
}
