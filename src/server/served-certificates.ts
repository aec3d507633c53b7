// The certificates of one port: given as files that are read again when they change, or made by ourselves and renewed. A
// pair that does not fit together never replaces one that does.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { milliseconds, seconds } from "../core/brand.ts";
import { messageOf } from "../core/errors.ts";
import { WatchedFile } from "../kube/connection/watched-file.ts";
import type { Authority } from "../pki/authority.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { KeyPair, ServedCertificates } from "../platform/listener.ts";
import type { Random } from "../platform/random.ts";
import {
  findKept,
  findKeptAuthority,
  isDue,
  type KeepOptions,
  keep,
  lastCertificate,
  makeOwnCertificate,
  stillGood,
} from "./own-certificate.ts";

export interface CertificateSettings {
  readonly given?: { readonly certFile: string; readonly keyFile: string };
  readonly byName: readonly {
    readonly certFile: string;
    readonly keyFile: string;
    /** Empty: the names in the certificate. */
    readonly names: readonly string[];
  }[];
  readonly keep?: Omit<KeepOptions, "files">;
  /** Of the certificate that we make ourselves. */
  readonly names: readonly string[];
}

export interface CertificateOptions {
  readonly settings: CertificateSettings;
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
  readonly onProblem: (text: string) => void;
}

/** A file that the operator must mend: the texts name it. */
export class UnusableCertificate extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnusableCertificate";
  }
}

const checkEvery = seconds(2);
const checkOwnEvery = milliseconds(3_600_000);

function checked(pair: KeyPair, where: string): KeyPair {
  try {
    if (new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) return pair;
  } catch (cause) {
    throw new UnusableCertificate(
      `${where} cannot be used: expected a certificate and a private key in PEM, the key without a passphrase.`,
      { cause },
    );
  }
  throw new UnusableCertificate(`${where} cannot be used: the key does not belong to the certificate.`);
}

function namesIn(cert: string): readonly string[] {
  return (new X509Certificate(cert).subjectAltName ?? "")
    .split(", ")
    .filter((entry) => entry.startsWith("DNS:"))
    .map((entry) => entry.slice(4));
}

interface FilePair {
  readonly cert: WatchedFile;
  readonly key: WatchedFile;
  readonly names: readonly string[];
}

async function contentOf(file: WatchedFile): Promise<string> {
  try {
    return await file.content();
  } catch (cause) {
    throw new UnusableCertificate(
      `${file.path} cannot be read. Check that it exists and that we may read it.`,
      {
        cause,
      },
    );
  }
}

async function readPair({ cert, key }: FilePair): Promise<KeyPair> {
  return checked({ cert: await contentOf(cert), key: await contentOf(key) }, `${cert.path} with ${key.path}`);
}

export interface CertificateSource {
  /** Throws `UnusableCertificate`. */
  first(): Promise<ServedCertificates>;
  /** PEM of our own authority; undefined when the certificate was given. */
  readonly ca: string | undefined;
  /** Calls back with each new set until the signal is aborted. */
  follow(onNew: (certificates: ServedCertificates) => void, signal: AbortSignal): Promise<void>;
}

export function createCertificateSource(options: CertificateOptions): CertificateSource {
  const { settings, files, clock, random, onProblem } = options;
  const watched = (certFile: string, keyFile: string, names: readonly string[] = []): FilePair => ({
    cert: new WatchedFile(certFile, files, clock),
    key: new WatchedFile(keyFile, files, clock),
    names,
  });
  const given = settings.given && watched(settings.given.certFile, settings.given.keyFile);
  const byName = settings.byName.map(({ certFile, keyFile, names }) => watched(certFile, keyFile, names));
  const kept: KeepOptions | undefined = settings.keep && { ...settings.keep, files };
  let own: KeyPair | undefined;
  let ca: string | undefined;
  let authority: Authority | undefined;

  const ownPair = async (): Promise<KeyPair> => {
    own ??= kept === undefined ? undefined : await findKept(kept, clock.now());
    if (own !== undefined && !isDue(own.cert, clock.now())) {
      ca ??= lastCertificate(own.cert);
      return own;
    }
    authority =
      stillGood(authority, clock.now()) ??
      (kept === undefined ? undefined : await findKeptAuthority(kept, { clock, random }));
    const made = makeOwnCertificate(settings.names, { clock, random }, authority);
    ({ authority, pair: own } = made);
    ca = authority.cert;
    if (kept !== undefined) {
      await keep(kept, made).catch((error: unknown) =>
        onProblem(`The certificate could not be kept in ${kept.folder}: ${String(error)}`),
      );
    }
    return own;
  };

  const read = async (): Promise<ServedCertificates> => {
    const pair = given === undefined ? await ownPair() : await readPair(given);
    const named = await Promise.all(
      byName.map(async (files) => {
        const one = await readPair(files);
        return { ...one, names: files.names.length > 0 ? files.names : namesIn(one.cert) };
      }),
    );
    return { ...pair, ...(named.length > 0 && { byName: named }) };
  };

  let served = "";
  return {
    first: async () => {
      const certificates = await read();
      served = JSON.stringify(certificates);
      return certificates;
    },
    get ca() {
      return ca;
    },
    follow: async (onNew, signal) => {
      const hasFiles = given !== undefined || byName.length > 0;
      for (;;) {
        try {
          await sleep(clock, hasFiles ? checkEvery : checkOwnEvery, signal);
        } catch {
          return;
        }
        try {
          const certificates = await read();
          const text = JSON.stringify(certificates);
          if (text === served) continue;
          served = text;
          onNew(certificates);
        } catch (error) {
          // Certificate and key are two files: between their renewals they do not fit.
          onProblem(`${messageOf(error)} The one before stays in use.`);
        }
      }
    },
  };
}
