// The flags of the secure port and of the webhook port under one set of names.

import { ownNames } from "../../server/served-certificates.ts";
import type { Flags } from "../flags/flag-table.ts";
import { serviceNames, webhookCertificateName } from "./webhook-registration.ts";

export interface PortFlags {
  /** The prefix of the flag names. */
  readonly prefix: "" | "webhook-";
  readonly portFlag: string;
  readonly port: number;
  readonly host: string;
  readonly http2: boolean;
  readonly sharePort: boolean;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Values of --tls-sni-cert-key. */
  readonly namedPairs: readonly string[];
  /** Directory of the generated certificate. */
  readonly folder: string | undefined;
  /** File name of the generated certificate, without extension. */
  readonly fileName: string;
  readonly minVersion: string;
  readonly ciphers: readonly string[];
  readonly curves: readonly string[];
  /** DNS names and addresses of the generated certificate. */
  readonly names: readonly string[];
}

export function securePortFlags(flags: Flags): PortFlags {
  return {
    prefix: "",
    portFlag: "secure-port",
    port: flags["secure-port"],
    host: flags["bind-address"],
    http2: !flags["disable-http2-serving"],
    sharePort: flags["permit-port-sharing"],
    certFile: flags["tls-cert-file"],
    keyFile: flags["tls-private-key-file"],
    namedPairs: flags["tls-sni-cert-key"] ?? [],
    folder: flags["cert-dir"],
    fileName: "cloud-controller-manager",
    minVersion: flags["tls-min-version"],
    ciphers: flags["tls-cipher-suites"] ?? [],
    curves: flags["tls-curve-preferences"] ?? [],
    names: ownNames(flags["bind-address"]),
  };
}

export function webhookPortFlags(flags: Flags, program: string): PortFlags {
  return {
    prefix: "webhook-",
    portFlag: "webhook-secure-port",
    port: flags["webhook-secure-port"],
    host: flags["webhook-bind-address"],
    http2: !flags["webhook-disable-http2-serving"],
    sharePort: false,
    certFile: flags["webhook-tls-cert-file"],
    keyFile: flags["webhook-tls-private-key-file"],
    namedPairs: flags["webhook-tls-sni-cert-key"] ?? [],
    folder: flags["webhook-cert-dir"],
    fileName: webhookCertificateName,
    minVersion: flags["webhook-tls-min-version"],
    ciphers: flags["webhook-tls-cipher-suites"] ?? [],
    curves: flags["webhook-tls-curve-preferences"] ?? [],
    names: ownNames(flags["webhook-bind-address"], serviceNames(program)),
  };
}
