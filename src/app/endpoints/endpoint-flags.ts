// The flags of the secure port and of the webhook port under one set of names.

import type { Values } from "../../core/settings.ts";
import { ownNames } from "../../server/served-certificates.ts";
import type { FlagName, Flags } from "../flags/flag-table.ts";
import { type PortFields, portFieldNames } from "../flags/groups/serving.ts";
import { serviceNames, webhookCertificateName } from "./webhook-registration.ts";

/** The flags of a port without the prefix of their names. */
export interface PortFlags extends Values<PortFields> {
  readonly prefix: "" | "webhook-";
  readonly sharesPort: boolean;
  /** File name of the generated certificate, without extension. */
  readonly fileName: string;
  /** DNS names and addresses of the generated certificate. */
  readonly names: readonly string[];
}

function valuesOf(flags: Flags, prefix: PortFlags["prefix"]): Values<PortFields> {
  const values = portFieldNames.map((name) => [name, flags[`${prefix}${name}` satisfies FlagName]]);
  // Both ports have the same fields.
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
