// A certificate authority in memory: it makes keys and issues certificates for servers and clients. It revokes nothing and keeps no list.

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { type Purpose, type Subject, signCertificate } from "./certificate.ts";

export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

export interface Authority {
  /** PEM, for those who are to trust it. */
  readonly cert: string;
  issueServer(commonName: string, names: readonly string[], lifetime?: Milliseconds): KeyAndCertificate;
  issueClient(subject: Subject, lifetime?: Milliseconds): KeyAndCertificate;
}

const day = 86_400_000;
const year = milliseconds(365 * day);
// Clocks of two machines differ; a certificate is good a little before it was made.
const slack = 3_600_000;

const makeKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const keyText = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

/** Sixteen bytes, and the first neither zero nor negative. */
const makeSerial = (random: Random): Uint8Array => {
  const bytes = Buffer.from(random.uuid().replaceAll("-", ""), "hex");
  return Uint8Array.from(bytes, (byte, index) => (index === 0 ? (byte & 0x3f) | 0x40 : byte));
};

export const createAuthority = (commonName: string, clock: Clock, random: Random): Authority => {
  const own = makeKeys();
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
      notBefore: clock.now() - slack,
      notAfter: clock.now() + lifetime,
      purpose,
      names,
    });
  return {
    cert: issue(issuer, own.publicKey, "authority", milliseconds(10 * year)),
    issueServer: (name, names, lifetime = year) => {
      const { publicKey, privateKey } = makeKeys();
      const cert = issue({ commonName: name }, publicKey, "server", lifetime, names);
      return { key: keyText(privateKey), cert };
    },
    issueClient: (subject, lifetime = year) => {
      const { publicKey, privateKey } = makeKeys();
      return { key: keyText(privateKey), cert: issue(subject, publicKey, "client", lifetime) };
    },
  };
};
