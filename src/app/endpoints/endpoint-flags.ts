// What the flags say of each of the two ports, under one set of names: the secure port, and that of the admission webhooks.

import { ownNames } from "../../server/own-certificate.ts";
import type { Flags } from "../flags/table.ts";
import { keptName, serviceNames } from "./webhook-manifest.ts";

export interface PortFlags {
  /** Before the names of the flags. */
  readonly prefix: "" | "webhook-";
  readonly portFlag: string;
  readonly port: number;
  readonly host: string;
  readonly http2: boolean;
  readonly sharePort: boolean;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly byName: readonly string[];
  readonly folder: string | undefined;
  readonly keptName: string;
  readonly minVersion: string;
  readonly ciphers: readonly string[];
  readonly curves: readonly string[];
  /** Of the certificate that is made when none is given. */
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
    byName: flags["tls-sni-cert-key"] ?? [],
    folder: flags["cert-dir"],
    keptName: "cloud-controller-manager",
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
    byName: flags["webhook-tls-sni-cert-key"] ?? [],
    folder: flags["webhook-cert-dir"],
    keptName,
    minVersion: flags["webhook-tls-min-version"],
    ciphers: flags["webhook-tls-cipher-suites"] ?? [],
    curves: flags["webhook-tls-curve-preferences"] ?? [],
    names: ownNames(flags["webhook-bind-address"], serviceNames(program)),
  };
}
