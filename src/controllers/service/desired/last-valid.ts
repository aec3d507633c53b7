// Keeps the last valid settings and source ranges of a Service while some are invalid and the cloud does not return the current
// values, so that a typo never changes a load balancer or who may access it. After a restart, what exists stays unchanged.

import { type Cidr, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type ReadAnnotations, unreadable } from "../annotations/annotations.ts";
import { sourceRangesOf } from "../annotations/source-ranges.ts";
import type { AnyBalancers } from "../deps.ts";
import type { ServiceState } from "../state/service-states.ts";

type Settings = Partial<Values<Fields>>;

/** The last valid values of the invalid settings that are missing in `observed`. */
export function lastValidSettings(
  state: ServiceState,
  { settings, frozen }: Pick<ReadAnnotations<Fields>, "settings" | "frozen">,
  observed: Settings | undefined,
): Settings {
  const valid = Object.entries(settings).filter(([name]) => !frozen.has(name));
  const last: Settings =
    frozen.size === 0 ? settings : { ...state.lastSettings, ...Object.fromEntries(valid) };
  state.lastSettings = last;
  const unseen = new Set(unreadable(frozen, observed));
  return Object.fromEntries(Object.entries(last).filter(([name]) => unseen.has(name)));
}

/**
 * The source ranges, undefined where the Service names none; unchanged while one of them is invalid. `unknown`: all of them are
 * invalid, and what was valid before is not known. Some clouds read an empty list as "all clients", so it is never the answer.
 */
export function validRanges(
  state: ServiceState,
  service: Service,
  observed: ObservedLoadBalancer | undefined,
  balancers: Pick<AnyBalancers, "rangesOf">,
): readonly Cidr[] | "unknown" | undefined {
  const uid = serviceUID(service.metadata.uid);
  const { isSpecified, ranges, problems } = sourceRangesOf(service);
  if (problems.length === 0) {
    state.lastRanges = isSpecified ? ranges : "unspecified";
    return isSpecified ? ranges : undefined;
  }
  const current = observed?.owners.includes(uid) === true ? balancers.rangesOf?.(observed, uid) : undefined;
  const last = current ?? state.lastRanges ?? (ranges.length === 0 ? "unknown" : ranges);
  return last === "unspecified" ? undefined : last;
}
