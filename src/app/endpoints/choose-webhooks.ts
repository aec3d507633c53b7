// Which admission webhooks are asked for, and what is wrong with the way they are asked for. It opens nothing.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";
import { invalidFlag } from "../flags/invalid-flag.ts";
import type { Flags } from "../flags/table.ts";
import { serviceWebhook } from "./webhook-manifest.ts";

const known = [serviceWebhook] as const;

/** Upstream's rule: `*` for all, a name for one, `-name` against one; without a star only what is named. */
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
    const hint = meant === undefined ? `there is ${known.join(", ")}` : `did you mean ${meant}?`;
    return invalidFlag("webhooks", `names ${JSON.stringify(word.slice(0, 80))}, which is not known; ${hint}`);
  });
  const port = flags["webhook-secure-port"];
  if (enabled.length > 0 && port !== 0 && port === flags["secure-port"])
    found.push(invalidFlag("webhook-secure-port", `is ${port}, as --secure-port is; choose another`));
  return found;
}
