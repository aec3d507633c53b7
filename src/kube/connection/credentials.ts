// Who we are to the API server: headers and TLS material from files, inline data and plugins, always as they are now.
// Files are read again when they change; a half-finished rotation keeps what worked before.

import { dirname, isAbsolute, join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { TlsMaterial } from "../../platform/transport.ts";
import { KubeError } from "../errors/kube-error.ts";
import { caBundleProblem, certificateEnd, clientCertificateProblem } from "./certificates.ts";
import { type ExecCredential, execCredential, type PluginCredential } from "./exec-credential.ts";
import type { KubeconfigCluster, KubeconfigUser } from "./kubeconfig.ts";
import { type WatchedFile, watchedFile } from "./watched-file.ts";

export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial | undefined;
}

export interface Credentials {
  current(signal: AbortSignal): Promise<Access>;
  /** The server refused us: read everything again at the next request. */
  invalidate(): void;
  /** Why a 401 may have come, as far as it can be told from here. */
  suspicion(): string | undefined;
}

interface Part {
  text(): Promise<string | undefined>;
  invalidate(): void;
}

const operation = "read the credentials";

export function createCredentials(
  cluster: KubeconfigCluster,
  user: KubeconfigUser,
  /** Relative names in a kubeconfig are relative to it. */
  kubeconfigPath: string,
  { files, clock }: { readonly files: Files; readonly clock: Clock },
): Credentials {
  const resolve = (path: string): string => (isAbsolute(path) ? path : join(dirname(kubeconfigPath), path));
  const part = (what: string, path: string | undefined, inline: string | undefined): Part => {
    // As in Go, inline data wins over a file.
    if (inline !== undefined || path === undefined) {
      return { text: () => Promise.resolve(inline), invalidate: () => {} };
    }
    const file: WatchedFile = watchedFile(resolve(path), files, clock);
    const text = async (): Promise<string> => {
      try {
        return await file.content();
      } catch (cause) {
        throw new KubeError(
          "configuration",
          `The ${what} ${file.path} cannot be read (${codeOf(cause) || "unknown error"}). Check that it exists and that we may read it.`,
          { operation, object: file.path, cause },
        );
      }
    };
    return { text, invalidate: file.invalidate };
  };

  const parts = {
    ca: part("certificate authority", cluster.caFile, cluster.caData),
    cert: part("client certificate", user.certFile, user.certData),
    key: part("client key", user.keyFile, user.keyData),
    // Go prefers the file over the inline token, so that rotation works.
    token: part("token file", user.tokenFile, user.tokenFile === undefined ? user.token : undefined),
  };
  const command = user.exec?.command;
  const plugin: ExecCredential | undefined =
    user.exec === undefined || command === undefined
      ? undefined
      : execCredential(
          { ...user.exec, command: command.includes("/") ? resolve(command) : command },
          cluster,
          parts.ca.text,
          files,
          clock,
        );

  let lastToken: string | undefined;
  /** A file that is emptied before it is written anew does not make us nobody meanwhile. */
  const tokenNow = async (): Promise<string | undefined> => {
    const text = await parts.token.text();
    if (text !== undefined && text.trim() === "" && lastToken !== undefined) return lastToken;
    lastToken = text;
    return text;
  };

  let tls: TlsMaterial | undefined;
  let checked = "";

  const checkTls = (ca: string | undefined, cert: string | undefined, key: string | undefined): void => {
    const fingerprint = `${ca}\0${cert}\0${key}`;
    if (fingerprint === checked) return;
    const problem =
      (ca === undefined ? undefined : caBundleProblem(ca)) ??
      (cert === undefined || key === undefined ? undefined : clientCertificateProblem(cert, key));
    if (problem !== undefined) {
      // Certificate and key are two files: between their renewals they do not fit, and the old pair still works.
      if (tls !== undefined) return;
      const where =
        problem.startsWith("it") || problem.startsWith("certificate")
          ? "The certificate authority cannot be used: "
          : "";
      throw new KubeError(
        "configuration",
        `${where}${problem}. Correct the kubeconfig or the file it names.`,
        { operation },
      );
    }
    checked = fingerprint;
    tls = {
      ...(ca !== undefined && !cluster.skipVerification && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(cluster.serverName !== undefined && { serverName: cluster.serverName }),
      ...(cluster.skipVerification && { skipVerification: true }),
    };
  };

  const bearer = (token: string | undefined, given: PluginCredential): string | undefined => {
    const text = token?.trim() ?? given.token?.reveal();
    if (text === undefined || text === "") return undefined;
    if (/[\r\n\0]/.test(text)) {
      throw new KubeError(
        "configuration",
        "The token has several lines; expected one token and nothing else.",
        { operation },
      );
    }
    return text;
  };

  return {
    current: async (signal) => {
      const [ca, cert, key, token] = await Promise.all([
        parts.ca.text(),
        parts.cert.text(),
        parts.key.text(),
        tokenNow(),
      ]);
      const given = plugin === undefined || token !== undefined ? {} : await plugin.current(signal);
      checkTls(ca, cert ?? given.cert, key ?? given.key?.reveal());
      const authorization = bearer(token, given);
      return {
        headers: {
          ...(authorization !== undefined && { authorization: `Bearer ${authorization}` }),
          ...(user.impersonate !== undefined && { "impersonate-user": user.impersonate.user }),
          ...(user.impersonate?.uid !== undefined && { "impersonate-uid": user.impersonate.uid }),
        },
        tls: cluster.server.startsWith("https:") ? tls : undefined,
      };
    },
    invalidate: () => {
      for (const each of Object.values(parts)) each.invalidate();
      plugin?.invalidate();
    },
    suspicion: () => {
      const end = tls?.cert === undefined ? undefined : certificateEnd(tls.cert);
      if (end === undefined || end > clock.now()) return undefined;
      return `The client certificate expired on ${new Date(end).toISOString()}; renew it, it is read again when its file changes.`;
    },
  };
}
