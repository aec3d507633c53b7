// The settings of the controllers, from the flags, with checks that the flag table cannot express. Pure.

import { type LabelPolicy, type NodeSettings, nodeDefaults } from "../../controllers/node/settings.ts";
import { type LifecycleSettings, lifecycleDefaults } from "../../controllers/node-lifecycle/settings.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { exactly, type RouteSettings, routeDefaults } from "../../controllers/route/settings.ts";
import { type ServiceSettings, serviceDefaults } from "../../controllers/service/settings.ts";
import type { Cidr } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { AddressKind } from "../../provider/instances.ts";
import { invalidFlag } from "./flag-problems.ts";
import type { Flags } from "./table.ts";

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

function readMassLimit(text: string): LifecycleSettings["massLimit"] | undefined {
  if (text === "off") return "off";
  const share = /^(\d{1,3})%$/.exec(text)?.[1];
  if (share === undefined || Number(share) > 100 || lifecycleDefaults.massLimit === "off") return undefined;
  return { ...lifecycleDefaults.massLimit, share: Number(share) / 100 };
}

function mustBe(flag: string, expected: string, got: string): Problem {
  return invalidFlag(flag, `must be ${expected}, got ${JSON.stringify(got)}`);
}

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
    betaLabelsWin: flags["beta-labels-win"],
    reconcileLabels: flags["reconcile-labels"],
    addresses: {
      families: only("node-address-families", flags["node-address-families"], families),
      include: (flags["node-address-include"] ?? []) as readonly Cidr[],
      exclude: (flags["node-address-exclude"] ?? []) as readonly Cidr[],
      networks: flags["node-address-networks"] ?? [],
      order: only<AddressKind>("node-address-order", flags["node-address-order"], kinds),
    },
  };
  const massLimit = readMassLimit(flags["node-deletion-limit"]);
  if (massLimit === undefined) {
    problems.push(
      mustBe("node-deletion-limit", "a percentage such as 20%, or off", flags["node-deletion-limit"]),
    );
  }
  const lifecycle: LifecycleSettings = {
    ...lifecycleDefaults,
    deletion: flags["node-deletion"],
    removeShutdownTaint: flags["shutdown-taint-goes"],
    proofs: flags["node-deletion-proofs"] === 1 ? 1 : 2,
    confirmAfter: flags["node-deletion-confirmation"],
    massLimit: massLimit ?? lifecycleDefaults.massLimit,
    minAgeWithoutID: flags["node-deletion-min-age"],
  };
  const period = flags["route-reconciliation-period"];
  const routes: RouteSettings = {
    ...routeDefaults,
    fullCheck: period === undefined ? routeDefaults.fullCheck : exactly(period),
  };
  if (flags["cluster-cidr"] !== undefined) {
    const ranges = readClusterCIDRs(flags["cluster-cidr"]);
    if (ranges.kind === "skip")
      problems.push({ ...ranges.problem, severity: "error", key: "--cluster-cidr" });
  }
  const services: ServiceSettings = {
    ...serviceDefaults,
    drift: flags["load-balancer-drift"],
    targets: flags["load-balancer-targets"],
    targetDrain: flags["load-balancer-target-drain"],
  };
  return { nodes, lifecycle, routes, services, problems };
}
