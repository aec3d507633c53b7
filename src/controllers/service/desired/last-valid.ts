// What a Service asked for when it was last right: as long as something of it is wrong, and the cloud does not show what is
// there, that is kept. Nobody is let in, kept out or changed by a typo. It may be lost; then what exists stays as it is.

import { type Cidr, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type ReadAnnotations, unreadable } from "../annotations/annotations.ts";
import { sourceRangesOf } from "../annotations/source-ranges.ts";
import type { AnyBalancers } from "../deps.ts";

type Settings = Partial<Values<Fields>>;

export function createLastRight(balancers: Pick<AnyBalancers, "rangesOf">) {
  const lastSettings = new Map<ServiceUID, Settings>();
  const lastRanges = new Map<ServiceUID, readonly Cidr[]>();

  return {
    /** Of the wrong settings those that the cloud, which shows `there`, does not show. */
    settings: (
      uid: ServiceUID,
      { settings, frozen }: Pick<ReadAnnotations<Fields>, "settings" | "frozen">,
      there: Settings | undefined,
    ): Settings => {
      const right = Object.entries(settings).filter(([name]) => !frozen.has(name));
      const last: Settings =
        frozen.size === 0 ? settings : { ...lastSettings.get(uid), ...Object.fromEntries(right) };
      lastSettings.set(uid, last);
      const unseen = new Set(unreadable(frozen, there));
      return Object.fromEntries(Object.entries(last).filter(([name]) => unseen.has(name)));
    },

    /** As long as one is wrong, the ranges stay as they are. */
    ranges: (service: Service, observed: ObservedLoadBalancer | undefined): readonly Cidr[] => {
      const uid = serviceUID(service.metadata.uid);
      const { ranges, problems } = sourceRangesOf(service);
      if (problems.length === 0) {
        lastRanges.set(uid, ranges);
        return ranges;
      }
      const there = observed?.owners.includes(uid) === true ? balancers.rangesOf?.(observed, uid) : undefined;
      return there ?? lastRanges.get(uid) ?? ranges;
    },

    forget: (uid: ServiceUID): void => {
      lastSettings.delete(uid);
      lastRanges.delete(uid);
    },
  };
}
