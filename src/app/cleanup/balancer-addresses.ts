// The addresses of a load balancer as the provider would publish them for a Service without annotations, for people to recognise it.
// Pure.

import type { AnyBalancers } from "../../controllers/service/deps.ts";
import { toDesired } from "../../controllers/service/desired/to-desired.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Service } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { type AnyProvider, annotationsOf } from "../connect-cloud.ts";

export function addressesOf(
  provider: AnyProvider,
  balancers: AnyBalancers,
  observed: ObservedLoadBalancer,
): readonly string[] {
  const { values: settings } = readSettings(annotationsOf(provider).fields, {}, { what: "annotation" });
  const uid = observed.owners[0] ?? observed.group;
  const found = (["IPv4", "IPv6"] as const).flatMap((family) => {
    const service: Service = {
      metadata: { uid, name: "leftover", namespace: "default" },
      spec: { type: "LoadBalancer", ports: [], ipFamilies: [family] },
      status: {},
    } as unknown as Service;
    const desired = toDesired({ service, settings, facts: {}, targets: [], sourceRanges: undefined });
    const published = balancers.publish(desired, observed);
    return published.kind === "addresses" ? published.addresses : [];
  });
  return [...new Set(found.flatMap(({ ip, hostname }) => ip ?? hostname ?? []))];
}
