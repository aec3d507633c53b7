// Keeps the last valid settings and source ranges of a Service while some are invalid and the cloud does not return the current
// values, so that a typo never changes a load balancer or who may access it. After a restart, what exists stays unchanged.

import { type Cidr, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type ReadAnnotations, unreadable } from "../annotations/annotations.ts";
import { sourceRangesOf } from "../annotations/source-ranges.ts";
import type { AnyBalancers } from "../deps.ts";
import type { LastValid } from "../state/service-record.ts";

type Settings = Partial<Values<Fields>>;

interface LastSettings {
  /** The last valid values of all settings. */
  readonly last: Settings;
  /** Those of the invalid settings that are missing in `observed`. */
  readonly missing: Settings;
}

export function lastValidSettings(
  { lastSettings }: Pick<LastValid, "lastSettings">,
  { settings, frozen }: Pick<ReadAnnotations<Fields>, "settings" | "frozen">,
  observed: Settings | undefined,
): LastSettings {
  const valid = Object.entries(settings).filter(([name]) => !frozen.has(name));
  if (frozen.size === 0) return { last: settings, missing: {} };
  const last: Settings = { ...lastSettings, ...Object.fromEntries(valid) };
  const unseen = new Set(unreadable(frozen, observed));
  const missing = Object.fromEntries(Object.entries(last).filter(([name]) => unseen.has(name)));
  return { last, missing };
}

interface ValidRanges {
  readonly last: LastValid["lastRanges"];
  readonly ranges: readonly Cidr[] | "unknown" | undefined;
}

/**
 * The source ranges, undefined where the Service names none; unchanged while one of them is invalid. `unknown`: all of them are
 * invalid, and what was valid before is not known. Some clouds read an empty list as "all clients", so it is never the answer.
 */
export function validRanges(
  { lastRanges }: Pick<LastValid, "lastRanges">,
  service: Service,
  observed: ObservedLoadBalancer | undefined,
  balancers: Pick<AnyBalancers, "rangesOf">,
): ValidRanges {
  const uid = serviceUID(service.metadata.uid);
  const { isSpecified, ranges, problems } = sourceRangesOf(service);
  if (problems.length === 0) {
    return isSpecified ? { last: ranges, ranges } : { last: "unspecified", ranges: undefined };
  }
  const current = observed?.owners.includes(uid) === true ? balancers.rangesOf?.(observed, uid) : undefined;
  const used = current ?? lastRanges ?? (ranges.length === 0 ? "unknown" : ranges);
  return { last: lastRanges, ranges: used === "unspecified" ? undefined : used };
}
