// One HTTPS port from its flags: names of TLS, certificate, listener, and the certificate followed while it serves. What is
// wrong names the flag that says it.

import { codeOf, messageOf } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import { certificateEnd } from "../../kube/connection/certificates.ts";
import type { Listen, Listener, ServedCertificates, ServedHandler } from "../../platform/listener.ts";
import {
  type CertificateSettings,
  CertificateSource,
  UnusableCertificate,
} from "../../server/served-certificates.ts";
import { readNamedPair, tlsNames } from "../../server/tls-names.ts";
import type { Log } from "../../telemetry/log.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import type { PortFlags } from "./endpoint-flags.ts";

export interface ListenOnOptions {
  readonly platform: Pick<ManagerPlatform, "files" | "clock" | "random">;
  readonly listen: Listen;
  readonly log: Log;
  readonly asksForCertificate: boolean;
  readonly handle: ServedHandler;
  /** The moment at which the certificate in use ends. */
  readonly onCertificate: (endsAt: number) => void;
}

export interface OpenPort {
  readonly number: number;
  /** Of our own authority; undefined when a certificate was given. */
  readonly ca: () => string | undefined;
  readonly follow: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

function refused(flag: string, says: string): ConfigurationError {
  return new ConfigurationError([invalidFlag(flag, says)]);
}

/** Throws a ConfigurationError for flags that do not fit together. */
export function settingsOf(flags: PortFlags): CertificateSettings {
  const { prefix, certFile, keyFile, folder, keptName, names } = flags;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [given, missing] =
      certFile === undefined ? ["private-key-file", "cert-file"] : ["cert-file", "private-key-file"];
    throw refused(`${prefix}tls-${given}`, `needs --${prefix}tls-${missing} beside it`);
  }
  const byName = flags.byName.map((text) => {
    const pair = readNamedPair(text);
    if (pair !== undefined) return pair;
    const wanted = "cert.pem,key.pem or cert.pem,key.pem:*.example.com";
    throw refused(
      `${prefix}tls-sni-cert-key`,
      `must be like ${wanted}, got ${JSON.stringify(text.slice(0, 200))}`,
    );
  });
  return {
    byName,
    names,
    ...(certFile !== undefined && keyFile !== undefined && { given: { certFile, keyFile } }),
    ...(folder !== undefined && { keep: { folder, name: keptName } }),
  };
}

const refusals: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use by another process; choose another port, or 0 for none",
  EACCES: "may not be listened on by this user; choose one above 1023, or 0 for none",
  EADDRNOTAVAIL: "cannot be listened on: the address is not one of this machine",
};

function listenError({ portFlag, host, port }: PortFlags, error: unknown): ConfigurationError {
  const code = codeOf(error);
  const why = refusals[code] ?? `could not be listened on: ${messageOf(error)}`;
  return refused(portFlag, `${port} on ${host} ${why}`);
}

export async function listenOn(flags: PortFlags, options: ListenOnOptions): Promise<OpenPort> {
  const { platform, listen, log, handle, asksForCertificate, onCertificate } = options;
  const names = tlsNames({ ...flags });
  for (const { text } of names.problems as readonly Problem[]) log.warn(text);
  const source = new CertificateSource({
    settings: settingsOf(flags),
    ...{ files: platform.files, clock: platform.clock, random: platform.random },
    onProblem: (text) => log.warn(text),
  });
  const report = ({ cert }: ServedCertificates): void => {
    const ends = certificateEnd(cert);
    if (ends !== undefined) onCertificate(ends);
  };
  let certificates: ServedCertificates;
  try {
    certificates = await source.first();
  } catch (error) {
    if (!(error instanceof UnusableCertificate)) throw error;
    throw refused(`${flags.prefix}tls-cert-file`, `is of no use: ${error.message}`);
  }
  report(certificates);
  const { host, port, http2, sharePort } = flags;
  let listener: Listener;
  try {
    listener = await listen({
      ...{ host, port, http2, sharePort, certificates, asksForCertificate, handle },
      minVersion: names.minVersion,
      ...(names.ciphers !== undefined && { ciphers: names.ciphers }),
      ...(names.curves !== undefined && { curves: names.curves }),
    });
  } catch (error) {
    throw listenError(flags, error);
  }
  return {
    number: listener.port,
    ca: () => source.ca,
    follow: (signal) =>
      source.follow((next) => {
        listener.renew(next);
        report(next);
        log.info("A new certificate is served", { flag: `--${flags.portFlag}` });
      }, signal),
    close: () => listener.close(),
  };
}
