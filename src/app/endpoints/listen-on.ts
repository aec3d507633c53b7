// Opens an HTTPS port from the flags of the secure port or the webhook port, and reloads its certificate when it changes.
// Errors name the flag.

import { defined } from "../../core/defined.ts";
import { messageOf, runtimeCodeOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { Values } from "../../core/settings.ts";
import { certificateEnd } from "../../kube/connection/credentials.ts";
import type { Listener, ServedCertificates, ServedHandler } from "../../platform/listener.ts";
import { ownNames } from "../../server/own-certificate.ts";
import {
  type CertificateSettings,
  CertificateSource,
  UnusableCertificate,
} from "../../server/served-certificates.ts";
import { readNamedPair, tlsNames } from "../../server/tls-names.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { FlagName, Flags } from "../flags/flag-table.ts";
import { type PortFields, portFieldNames } from "../flags/groups/serving.ts";
import type { PortContext } from "./port-context.ts";
import { serviceNames, webhookCertificateName } from "./webhook-registration.ts";

interface PortOptions {
  readonly asksForCertificate: boolean;
  readonly handle: ServedHandler;
  /** Receives the expiry of the certificate that is served. */
  readonly onCertificate: (endsAt: number) => void;
}

export interface OpenPort {
  readonly number: number;
  /** The generated CA; undefined if a certificate file is set. */
  readonly ca: () => string | undefined;
  readonly follow: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

function flagError(flag: string, text: string): ConfigurationError {
  return new ConfigurationError([invalidFlag(flag, text)]);
}

/** Throws a ConfigurationError for inconsistent flags. */
export function certificateSettings(flags: PortFlags): CertificateSettings {
  const { prefix, fileName, names, "cert-dir": folder } = flags;
  const { "tls-cert-file": certFile, "tls-private-key-file": keyFile } = flags;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [given, missing] =
      certFile === undefined ? ["private-key-file", "cert-file"] : ["cert-file", "private-key-file"];
    throw flagError(`${prefix}tls-${given}`, `requires --${prefix}tls-${missing}`);
  }
  const byName = (flags["tls-sni-cert-key"] ?? []).map((text) => {
    const pair = readNamedPair(text);
    if (pair !== undefined) return pair;
    const expected = "cert.pem,key.pem or cert.pem,key.pem:*.example.com";
    const got = JSON.stringify(text.slice(0, 200));
    throw flagError(`${prefix}tls-sni-cert-key`, `must be like ${expected}, got ${got}`);
  });
  return defined({
    byName,
    names,
    given: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    keep: folder === undefined ? undefined : { folder, name: fileName },
  });
}

const listenErrors: Readonly<Record<string, string>> = {
  EADDRINUSE:
    "is in use by another process, which ss -ltnp shows. Nothing is managed until you stop it, or choose another port",
  EACCES: "requires a privileged user; choose a port above 1023, or 0 to disable it",
  EADDRNOTAVAIL: "cannot be opened, because the address does not belong to this machine",
};

/**
 * Problems that a restart may solve, because the other process ends or the address is assigned. systemd does not restart the
 * process after an invalid configuration.
 */
const temporary: readonly string[] = ["EADDRINUSE", "EADDRNOTAVAIL"];

function listenError(flags: PortFlags, error: unknown): Error {
  const code = runtimeCodeOf(error);
  const why = listenErrors[code] ?? `cannot be opened: ${messageOf(error)}`;
  const flag = `${flags.prefix}secure-port`;
  const text = `${flags["secure-port"]} on ${flags["bind-address"]} ${why}`;
  return temporary.includes(code) ? new Error(`--${flag} ${text}`) : flagError(flag, text);
}

export async function listenOn(
  flags: PortFlags,
  { platform, listen, log }: Pick<PortContext, "platform" | "listen" | "log">,
  { handle, asksForCertificate, onCertificate }: PortOptions,
): Promise<OpenPort> {
  const names = tlsNames({
    prefix: flags.prefix,
    minVersion: flags["tls-min-version"],
    ciphers: flags["tls-cipher-suites"] ?? [],
    curves: flags["tls-curve-preferences"] ?? [],
  });
  for (const { text } of names.problems as readonly Problem[]) log.warn(text);
  const source = new CertificateSource({
    settings: certificateSettings(flags),
    files: platform.files,
    clock: platform.clock,
    random: platform.random,
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
    throw flagError(`${flags.prefix}tls-cert-file`, `is unusable: ${error.message}`);
  }
  report(certificates);
  let listener: Listener;
  try {
    listener = await listen(
      defined({
        host: flags["bind-address"],
        port: flags["secure-port"],
        http2: !flags["disable-http2-serving"],
        sharePort: flags.sharesPort,
        certificates,
        asksForCertificate,
        handle,
        minVersion: names.minVersion,
        ciphers: names.ciphers,
        curves: names.curves,
      }),
    );
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
        log.info("Reloaded the serving certificate", { flag: `--${flags.prefix}secure-port` });
      }, signal),
    close: () => listener.close(),
  };
}

/** The flags of a port without their prefix. */
export interface PortFlags extends Values<PortFields> {
  readonly prefix: "" | "webhook-";
  readonly sharesPort: boolean;
  /** The file name of the generated certificate, without its extension. */
  readonly fileName: string;
  /** DNS names and addresses of the generated certificate. */
  readonly names: readonly string[];
}

function valuesOf(flags: Flags, prefix: PortFlags["prefix"]): Values<PortFields> {
  const values = portFieldNames.map((name) => [name, flags[`${prefix}${name}` satisfies FlagName]]);
  // Both ports have the same flags.
  return Object.fromEntries(values) as Values<PortFields>;
}

export function securePortFlags(flags: Flags): PortFlags {
  return {
    ...valuesOf(flags, ""),
    prefix: "",
    sharesPort: flags["permit-port-sharing"],
    fileName: "cloud-controller-manager",
    names: ownNames(flags["bind-address"]),
  };
}

export function webhookPortFlags(flags: Flags, program: string): PortFlags {
  return {
    ...valuesOf(flags, "webhook-"),
    prefix: "webhook-",
    sharesPort: false,
    fileName: webhookCertificateName,
    names: ownNames(flags["webhook-bind-address"], serviceNames(program)),
  };
}
