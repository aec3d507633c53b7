// Fairlead's credentials for the API server: headers and TLS material from files, inline data and plugins. Files are reloaded
// when they change; during an incomplete rotation, the previous pair stays in use. PEM texts are validated before use.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { runtimeCodeOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { TlsMaterial } from "../../platform/transport.ts";
import { KubeError } from "../errors/kube-error.ts";
import { ExecCredential, type PluginCredential } from "./exec-credential.ts";
import type { KubeconfigCluster, KubeconfigUser } from "./kubeconfig.ts";
import { WatchedFile } from "./watched-file.ts";

export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial | undefined;
}

/** A credential, inline or in a file. */
interface Source {
  readonly inline: string | undefined;
  readonly file: WatchedFile | undefined;
  /** Describes the credentials in messages. */
  readonly description: string;
}

const operation = "read the credentials";
/** The maximum time without a check of a `WatchedFile`. A plugin knows how long its credential is valid. */
const readAgainAfter = seconds(1);
/** The folder of `LoadCredential=`. */
const copiedBySystemd = "/run/credentials/";

function invalid(message: string, facts: { readonly object?: string; readonly cause?: unknown } = {}) {
  return new KubeError("configuration", message, { operation, ...facts });
}

async function read({ inline, file, description }: Source): Promise<string | undefined> {
  if (file === undefined) return inline;
  try {
    return await file.content();
  } catch (cause) {
    throw invalid(
      `Cannot read the ${description} ${file.path} (${runtimeCodeOf(cause) || "unknown error"}). Check that the file exists and is readable.`,
      { object: file.path, cause },
    );
  }
}

function bearerToken(token: string | undefined, given: PluginCredential): string | undefined {
  const text = token?.trim() ?? given.token?.reveal();
  if (text === undefined || text === "") return undefined;
  if (/[\r\n\0]/.test(text))
    throw invalid("The token has several lines. Expected one token and nothing else.");
  return text;
}

export class Credentials {
  readonly #cluster: KubeconfigCluster;
  readonly #user: KubeconfigUser;
  readonly #clock: Clock;
  /** The kubeconfig's path. */
  readonly #path: string;
  readonly #sources: Readonly<Record<"ca" | "cert" | "key" | "token", Source>>;
  readonly #plugin: ExecCredential | undefined;
  #lastToken: string | undefined;
  /** The content of the files and inline data, and when it was read (monotonic). */
  #recent: { readonly access: Access; readonly at: number } | undefined;
  #tls: TlsMaterial | undefined;
  /** The texts that `#tls` was created from. */
  #validated = "";

  constructor(
    cluster: KubeconfigCluster,
    user: KubeconfigUser,
    kubeconfigPath: string,
    { files, clock }: { readonly files: Files; readonly clock: Clock },
  ) {
    const source = (description: string, path: string | undefined, inline: string | undefined): Source => {
      // As in Go, inline data takes precedence over a file.
      const isFile = inline === undefined && path !== undefined;
      return { description, inline, file: isFile ? new WatchedFile(path, files, clock) : undefined };
    };
    this.#cluster = cluster;
    this.#user = user;
    this.#clock = clock;
    this.#path = kubeconfigPath;
    this.#sources = {
      ca: source("certificate authority", cluster.caFile, cluster.caData),
      cert: source("client certificate", user.certFile, user.certData),
      key: source("client key", user.keyFile, user.keyData),
      // As in Go, the token file takes precedence over the inline token, so that rotation works.
      token: source("token file", user.tokenFile, user.tokenFile === undefined ? user.token : undefined),
    };
    if (user.exec === undefined) return;
    const ca = () => read(this.#sources.ca);
    this.#plugin = new ExecCredential(user.exec, { cluster, ca, files, clock });
  }

  async current(signal: AbortSignal): Promise<Access> {
    const recent = this.#recent;
    if (recent !== undefined && this.#clock.monotonic() - recent.at < readAgainAfter) return recent.access;
    const access = await this.#read(signal);
    if (this.#plugin === undefined) this.#recent = { access, at: this.#clock.monotonic() };
    return access;
  }

  async #read(signal: AbortSignal): Promise<Access> {
    const { ca, cert, key } = this.#sources;
    const [caText, certText, keyText, token] = await Promise.all([
      read(ca),
      read(cert),
      read(key),
      this.#token(),
    ]);
    const given = this.#plugin === undefined || token !== undefined ? {} : await this.#plugin.current(signal);
    this.#updateTls(caText, certText ?? given.cert, keyText ?? given.key?.reveal());
    const authorization = bearerToken(token, given);
    return {
      headers: {
        ...(authorization !== undefined && { authorization: `Bearer ${authorization}` }),
        ...this.#user.impersonation,
      },
      tls: this.#cluster.server.startsWith("https:") ? this.#tls : undefined,
    };
  }

  /** Reloads everything for the next request. Called after a 401. */
  invalidate(): void {
    this.#recent = undefined;
    for (const { file } of Object.values(this.#sources)) file?.invalidate();
    this.#plugin?.invalidate();
  }

  /** The likely cause of a 401, if it can be derived from the credentials. */
  explainRefusal(): string | undefined {
    const end = this.#tls?.cert === undefined ? undefined : certificateEnd(this.#tls.cert);
    if (end === undefined || end > this.#clock.now()) return undefined;
    const path = this.#sources.cert.file?.path ?? this.#path;
    const then = path.startsWith(copiedBySystemd)
      ? "Renew the file that LoadCredential= names, and restart the unit: systemd copies it when the unit starts."
      : "Renew it; Fairlead reloads it when the file changes.";
    return `The client certificate in ${path} expired on ${new Date(end).toISOString()}. ${then}`;
  }

  /** While a file is truncated before it is rewritten, the previous token stays in use. */
  async #token(): Promise<string | undefined> {
    const text = await read(this.#sources.token);
    if (text !== undefined && text.trim() === "" && this.#lastToken !== undefined) return this.#lastToken;
    this.#lastToken = text;
    return text;
  }

  #updateTls(ca: string | undefined, cert: string | undefined, key: string | undefined): void {
    const texts = `${ca}\0${cert}\0${key}`;
    if (texts === this.#validated) return;
    const problem =
      (ca === undefined ? undefined : caBundleProblem(ca)) ??
      (cert === undefined || key === undefined ? undefined : clientCertificateProblem(cert, key));
    if (problem !== undefined) {
      // Certificate and key are two files, which do not match during a rotation, while the previous pair still works.
      if (this.#tls !== undefined) return;
      throw invalid(`${problem}. Correct the kubeconfig or the file that it names.`);
    }
    const { skipVerification, serverName } = this.#cluster;
    this.#validated = texts;
    this.#tls = defined({
      ca: skipVerification ? undefined : ca,
      cert,
      key,
      serverName,
      skipVerification: skipVerification || undefined,
    });
  }
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The problem with a bundle of CA certificates; undefined if there is none. Checked before use, because Bun only reports "failed
 * to open socket" for an invalid key or CA; TLS itself verifies the chain.
 */
function caBundleProblem(pem: string): string | undefined {
  const blocks = pem.match(certificateBlock);
  if (blocks === null) return "The certificate authority contains no PEM certificate";
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return `Certificate ${index + 1} of ${blocks.length} in the certificate authority is malformed`;
    }
  }
  return undefined;
}

/** The problem with a client certificate and its key; undefined if there is none. Does not check the period of validity. */
function clientCertificateProblem(cert: string, key: string): string | undefined {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return "The client certificate is not a PEM certificate";
  }
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
      ? undefined
      : "The client key does not match the client certificate";
  } catch {
    return "The client key is not an unencrypted PEM private key";
  }
}

/** The wall-clock time at which a certificate expires, in milliseconds; undefined if the certificate is malformed. */
export function certificateEnd(pem: string): number | undefined {
  try {
    const end = Date.parse(new X509Certificate(pem).validTo);
    return Number.isNaN(end) ? undefined : end;
  } catch {
    return undefined;
  }
}
