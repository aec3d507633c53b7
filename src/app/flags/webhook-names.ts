// The names of the admission webhooks, and which of them --webhooks selects.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";
import { invalidFlag } from "./flag-problems.ts";
import type { Flags } from "./flag-table.ts";

export const serviceWebhook = "service-annotations";

const known = [serviceWebhook] as const;

/** Upstream's rule: `*` selects all, a name selects one, `-name` excludes one; without `*`, only named webhooks are selected. */
export function chooseWebhooks(
  asked: readonly string[],
  all: readonly string[] = known,
): { readonly enabled: readonly string[]; readonly unknown: readonly string[] } {
  const isEnabled = (name: string): boolean => {
    if (asked.includes(name)) return true;
    return !asked.includes(`-${name}`) && asked.includes("*");
  };
  return {
    enabled: all.filter(isEnabled),
    unknown: asked.filter((word) => word !== "*" && !all.includes(word.replace(/^-/, ""))),
  };
}

export function webhookProblems(flags: Flags): readonly Problem[] {
  const { enabled, unknown } = chooseWebhooks(flags.webhooks ?? []);
  const found = unknown.map((word) => {
    const meant = didYouMean(word.replace(/^-/, ""), known);
    const hint = meant === undefined ? `known webhooks: ${known.join(", ")}` : `did you mean ${meant}?`;
    return invalidFlag(
      "webhooks",
      `contains the unknown webhook ${JSON.stringify(word.slice(0, 80))}; ${hint}`,
    );
  });
  const port = flags["webhook-secure-port"];
  if (enabled.length > 0 && port !== 0 && port === flags["secure-port"])
    found.push(invalidFlag("webhook-secure-port", `must differ from --secure-port, got ${port} for both`));
  return found;
}
