// The reasons of problems that a provider reports: a closed list for all providers, and reasons that a provider declares. Alerts
// and metrics use reasons as labels, so free text is not allowed and their number is limited.

import type { Brand } from "../core/brand.ts";
import type { Problem, Severity } from "../core/problem.ts";

/** Reasons that every provider can use, with their meaning and remedy. */
export const commonReasons = {
  AmbiguousCloudObject: "Several cloud objects have the configured name. Set an id.",
  IncompleteInstance:
    "The cloud's description of the instance is still incomplete. No action is needed unless this lasts.",
  InvalidAnnotation: "An annotation has a value that is invalid for this Service. Correct it.",
  MissingCloudObject:
    "A configured cloud object, such as a network or a certificate, does not exist. Correct the name or id.",
  MissingInput:
    "A Secret, ConfigMap or file that the load balancer needs is missing or has no usable value. Create or correct it.",
  PortConflict: "Another Service that shares the load balancer uses the port. Use a different port.",
  QuotaExceeded: "A quota is exhausted. Raise it, or delete unused objects.",
  UnsupportedByCloud: "The Service requests something that the cloud does not support. Change the Service.",
} as const;

/** The text of a problem that keeps a load balancer which is no longer needed. `why` names the annotation and its value. */
export const heldDeletionText = (why: string, remedy: string): string =>
  `Deletion is on hold: ${why}. The load balancer stays until this is corrected. ${remedy}`;

/** A reason that a provider declared with `declareReasons`. */
export type OwnReason = Brand<string, "OwnReason">;

/** The reason of a problem: one of `commonReasons`, or one that the provider declared. */
export type Reason = keyof typeof commonReasons | OwnReason;

/** A problem with an instance, a load balancer or a route. Reported as an event and a condition; nothing is thrown. */
export interface ProviderProblem extends Pick<Problem, "text" | "remedy" | "key"> {
  readonly severity: Severity;
  readonly reason: Reason;
}

const texts = Symbol.for("fairlead.reasons");

/** A provider's reasons by name. Pass it to `ProviderDefinition.reasons`. */
export type DeclaredReasons<N extends string = string> = Readonly<Record<N, OwnReason>> & {
  readonly [texts]: Readonly<Record<N, string>>;
};

/**
 * Declares a provider's reasons: CamelCase names with a permanent meaning, each with the problem and the remedy.
 * @example export const reasons = declareReasons({ CertificateExpired: "The certificate has expired. Renew it." }); const
 * problem: ProviderProblem = { severity: "error", reason: reasons.CertificateExpired, text: "…" };
 */
export function declareReasons<const N extends string>(
  meanings: Readonly<Record<N, string>>,
): DeclaredReasons<N> {
  const names = Object.keys(meanings) as N[];
  for (const name of names) {
    if (!/^[A-Z][A-Za-z0-9]*$/.test(name))
      throw new Error(`The reason ${name} must be CamelCase, such as CertificateExpired.`);
    if (Object.hasOwn(commonReasons, name))
      throw new Error(`${name} is a common reason; use it without declaring it.`);
  }
  const byName = Object.fromEntries(names.map((name) => [name, name as string as OwnReason]));
  return Object.assign(byName, { [texts]: meanings }) as DeclaredReasons<N>;
}

/** The meaning of each declared reason, by name. */
export function meaningsOf(declared: DeclaredReasons | undefined): Readonly<Record<string, string>> {
  return declared?.[texts] ?? {};
}
