// The certificates of one port: from files that are reloaded when they change, or generated and renewed. A
// certificate without its matching key never replaces a valid pair.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { milliseconds, seconds } from "../core/brand.ts";
import { messageOf } from "../core/error-message.ts";
import { withoutFullStop } from "../core/text.ts";
import { WatchedFile } from "../kube/connection/watched-file.ts";
import type { Authority } from "../pki/authority.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { KeyPair, ServedCertificates } from "../platform/listener.ts";
import type { Random } from "../platform/random.ts";
import {
  type CertificateFolder,
  lastCertificate,
  loadAuthority,
  loadCertificate,
  makeOwnCertificate,
  needsRenewal,
  storeCertificate,
  usableAuthority,
} from "./own-certificate.ts";

export interface CertificateSettings {
  readonly given?: { readonly certFile: string; readonly keyFile: string };
  readonly byName: readonly {
    readonly certFile: string;
    readonly keyFile: string;
    /** If empty, the DNS names in the certificate. */
    readonly names: readonly string[];
  }[];
  readonly keep?: Omit<CertificateFolder, "files">;
  /** The names of a generated certificate. */
  readonly names: readonly string[];
}

export interface CertificateOptions {
  readonly settings: CertificateSettings;
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
  readonly onProblem: (text: string) => void;
}

/** A configured certificate that cannot be used; the message names the file. */
export class UnusableCertificate extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnusableCertificate";
  }
}

const fileCheckInterval = seconds(2);
const renewalCheckInterval = milliseconds(3_600_000);

function checked(pair: KeyPair, where: string): KeyPair {
  try {
    if (new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) return pair;
  } catch (cause) {
    throw new UnusableCertificate(
      `Cannot use ${where}: expected a PEM certificate and an unencrypted PEM private key.`,
      { cause },
    );
  }
  throw new UnusableCertificate(`Cannot use ${where}: the key does not match the certificate.`);
}

function dnsNamesOf(cert: string): readonly string[] {
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
    throw new UnusableCertificate(`Cannot read ${file.path}. Check that the file exists and is readable.`, {
      cause,
    });
  }
}

async function readPair({ cert, key }: FilePair): Promise<KeyPair> {
  return checked({ cert: await contentOf(cert), key: await contentOf(key) }, `${cert.path} with ${key.path}`);
}

export class CertificateSource {
  readonly #options: CertificateOptions;
  readonly #given: FilePair | undefined;
  readonly #byName: readonly FilePair[];
  readonly #folder: CertificateFolder | undefined;
  #own: KeyPair | undefined;
  #authority: Authority | undefined;
  #ca: string | undefined;
  #served = "";

  constructor(options: CertificateOptions) {
    const { settings, files, clock } = options;
    const watch = (certFile: string, keyFile: string, names: readonly string[] = []): FilePair => ({
      cert: new WatchedFile(certFile, files, clock),
      key: new WatchedFile(keyFile, files, clock),
      names,
    });
    this.#options = options;
    this.#given = settings.given && watch(settings.given.certFile, settings.given.keyFile);
    this.#byName = settings.byName.map(({ certFile, keyFile, names }) => watch(certFile, keyFile, names));
    this.#folder = settings.keep && { ...settings.keep, files };
  }

  /** PEM of the generated authority; undefined for a configured certificate. */
  get ca(): string | undefined {
    return this.#ca;
  }

  /** Throws `UnusableCertificate`. */
  async first(): Promise<ServedCertificates> {
    const certificates = await this.#read();
    this.#served = JSON.stringify(certificates);
    return certificates;
  }

  /** Calls back with each new set of certificates until the signal is aborted. */
  async follow(onNew: (certificates: ServedCertificates) => void, signal: AbortSignal): Promise<void> {
    const { clock, onProblem } = this.#options;
    const hasFiles = this.#given !== undefined || this.#byName.length > 0;
    for (;;) {
      try {
        await sleep(clock, hasFiles ? fileCheckInterval : renewalCheckInterval, signal);
      } catch {
        return;
      }
      try {
        const certificates = await this.#read();
        const text = JSON.stringify(certificates);
        if (text === this.#served) continue;
        this.#served = text;
        onNew(certificates);
      } catch (error) {
        // Certificate and key are two files, which do not match during a rotation.
        onProblem(`${messageOf(error)} The previous certificate stays in use.`);
      }
    }
  }

  async #read(): Promise<ServedCertificates> {
    const pair = this.#given === undefined ? await this.#ownPair() : await readPair(this.#given);
    const byName = await Promise.all(
      this.#byName.map(async (files) => {
        const named = await readPair(files);
        return { ...named, names: files.names.length > 0 ? files.names : dnsNamesOf(named.cert) };
      }),
    );
    return byName.length === 0 ? pair : { ...pair, byName };
  }

  async #ownPair(): Promise<KeyPair> {
    const { settings, clock, random, onProblem } = this.#options;
    const folder = this.#folder;
    this.#own ??= folder && (await loadCertificate(folder, clock.now()));
    if (this.#own !== undefined && !needsRenewal(this.#own.cert, clock.now())) {
      this.#ca ??= lastCertificate(this.#own.cert);
      return this.#own;
    }
    const existing =
      usableAuthority(this.#authority, clock.now()) ??
      (folder && (await loadAuthority(folder, { clock, random })));
    const made = makeOwnCertificate(settings.names, { clock, random }, existing);
    this.#authority = made.authority;
    this.#own = made.pair;
    this.#ca = made.authority.cert;
    if (folder !== undefined) {
      await storeCertificate(folder, made).catch((error: unknown) =>
        onProblem(
          `Cannot store the certificate in ${folder.folder}: ${withoutFullStop(messageOf(error))}. A new one is generated at the next start.`,
        ),
      );
    }
    return made.pair;
  }
}
