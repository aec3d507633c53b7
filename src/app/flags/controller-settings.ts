// The settings of the controllers, from the flags, with checks that the flag table cannot express. Pure.

import {
  defaultRemovalLimit,
  parseRemovalLimit,
  removalLimitForms,
} from "../../controllers/kernel/removal-limit.ts";
import { type LabelPolicy, type NodeSettings, nodeDefaults } from "../../controllers/node/settings.ts";
import { type LifecycleSettings, lifecycleDefaults } from "../../controllers/node-lifecycle/settings.ts";
import { exactly, type RouteSettings, routeDefaults } from "../../controllers/route/deps.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { type ServedClasses, servedClasses } from "../../controllers/service/served-classes.ts";
import { type ServiceSettings, serviceDefaults } from "../../controllers/service/settings.ts";
import { type Cidr, milliseconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { AddressKind } from "../../provider/instances.ts";
import { chooseControllers } from "./controller-names.ts";
import { invalidFlag } from "./flag-problems.ts";
import type { Flags } from "./flag-table.ts";

export interface ControllerSettings {
  readonly nodes: NodeSettings;
  readonly lifecycle: LifecycleSettings;
  readonly routes: RouteSettings;
  readonly services: ServiceSettings;
  readonly problems: readonly Problem[];
}

const families = ["IPv4", "IPv6"] as const;
const kinds = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"] as const;
const policies = ["sync", "report", "once"] as const;

function mustBe(flag: string, expected: string, got: string): Problem {
  return invalidFlag(flag, `must be ${expected}, got ${JSON.stringify(got)}`);
}

export const classesOf = (
  flags: Pick<Flags, "load-balancer-class" | "load-balancer-class-only">,
): ServedClasses =>
  servedClasses(flags["load-balancer-class"] ?? [], { only: flags["load-balancer-class-only"] });

/** True if this manager runs next to a complete manager. Two leaders are then intended. */
export const servesOnlyClasses = (flags: Flags): boolean =>
  flags["load-balancer-class-only"] &&
  [...chooseControllers(flags.controllers).enabled].every((name) => name === "service");

export function controllerSettings(flags: Flags): ControllerSettings {
  const problems: Problem[] = [];
  const only = <T extends string>(
    flag: string,
    words: readonly string[] | undefined,
    known: readonly T[],
  ): readonly T[] =>
    (words ?? []).flatMap((word) => {
      const match = known.find((one) => one.toLowerCase() === word.toLowerCase());
      if (match === undefined) problems.push(mustBe(flag, `one of ${known.join(", ")}`, word));
      return match ?? [];
    });

  const labelPolicies: Record<string, LabelPolicy> = {};
  for (const [key, value] of flags["label-policy"] ?? []) {
    const [policy] = only("label-policy", [value], policies);
    if (policy !== undefined) labelPolicies[key] = policy;
  }
  const nodes: NodeSettings = {
    ...nodeDefaults,
    labelPolicies,
    labelsFrom: flags["node-labels-from"] ?? [],
    taintsFrom: flags["node-taints-from"],
    preferBetaLabels: flags["prefer-beta-labels"],
    reconcileLabels: flags["reconcile-labels"],
    matchTimeout: flags["node-match-timeout"],
    addresses: {
      families: only("node-address-families", flags["node-address-families"], families),
      include: (flags["node-address-include"] ?? []) as readonly Cidr[],
      exclude: (flags["node-address-exclude"] ?? []) as readonly Cidr[],
      networks: flags["node-address-networks"] ?? [],
      order: only<AddressKind>("node-address-order", flags["node-address-order"], kinds),
    },
  };
  const limit = parseRemovalLimit(flags["removal-limit"]);
  if (limit === undefined) problems.push(mustBe("removal-limit", removalLimitForms, flags["removal-limit"]));
  // Nodes, load balancers and routes share these rules.
  const absence = {
    removalLimit: limit ?? defaultRemovalLimit,
    confirmAfter: flags["absence-confirmation"],
  };
  const lifecycle: LifecycleSettings = {
    ...lifecycleDefaults,
    deletion: flags["node-deletion"],
    outOfService: flags["out-of-service-taint"],
    removeShutdownTaint: flags["remove-shutdown-taint"],
    ...absence,
    // If a single answer is proof, that also applies to young Nodes.
    minAge: absence.confirmAfter === 0 ? milliseconds(0) : lifecycleDefaults.minAge,
  };
  const period = flags["route-reconciliation-period"];
  const routes: RouteSettings = {
    ...routeDefaults,
    fullCheck: period === undefined ? routeDefaults.fullCheck : exactly(period),
    ...absence,
  };
  if (flags["cluster-cidr"] !== undefined) {
    const ranges = readClusterCIDRs(flags["cluster-cidr"]);
    if (ranges.kind === "skip")
      problems.push({ ...ranges.problem, severity: "error", key: "--cluster-cidr" });
  }
  if (flags["load-balancer-class-only"] && (flags["load-balancer-class"] ?? []).length === 0) {
    const text =
      "needs --load-balancer-class: without a class, no Service would be served. Name the classes to serve, or omit it";
    problems.push(invalidFlag("load-balancer-class-only", text));
  }
  const services: ServiceSettings = {
    ...serviceDefaults,
    drift: flags["load-balancer-drift"],
    vanished: flags["vanished-service-policy"],
    ...absence,
    targets: flags["load-balancer-targets"],
    targetDrain: flags["load-balancer-target-drain"],
    unhealthyCondition: flags["unhealthy-targets-condition"],
  };
  return { nodes, lifecycle, routes, services, problems };
}
