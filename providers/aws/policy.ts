// The IAM policy of the manager: the actions that the code can call, for what it is used for. Pure.

import type { PolicyNeeds } from "#ccm";
import { ec2Actions, elbActions, elbv2Actions, type Purpose } from "./api/actions.ts";

/** In the order of the statements. */
const purposes: Readonly<Record<Purpose, { readonly sid: string; isNeeded(needs: PolicyNeeds): boolean }>> = {
  nodes: { sid: "Nodes", isNeeded: ({ nodes }) => nodes },
  routes: { sid: "Routes", isNeeded: ({ routes }) => routes },
  tagging: { sid: "Tagging", isNeeded: ({ tagging }) => tagging },
  "load-balancers": { sid: "LoadBalancers", isNeeded: ({ loadBalancers }) => loadBalancers },
  volumes: { sid: "Volumes", isNeeded: ({ volumes }) => volumes },
};

const permissions: readonly (readonly [name: string, purposes: readonly Purpose[]])[] = [
  ["ec2", ec2Actions] as const,
  ["elasticloadbalancing", elbActions] as const,
  ["elasticloadbalancing", elbv2Actions] as const,
].flatMap(([service, actions]) =>
  Object.entries(actions).map(([action, uses]) => [`${service}:${action}`, uses] as const),
);

export function iamPolicy(needs: PolicyNeeds): object {
  const statements = Object.entries(purposes).flatMap(([purpose, { sid, isNeeded }]) => {
    const all = permissions.flatMap(([name, uses]) =>
      (uses as readonly string[]).includes(purpose) ? [name] : [],
    );
    const allowed = all.filter((name) => needs.isWriting || name.includes(":Describe"));
    if (!isNeeded(needs) || allowed.length === 0) return [];
    return [{ Sid: sid, Effect: "Allow", Action: [...new Set(allowed)].toSorted(), Resource: "*" }];
  });
  return { Version: "2012-10-17", Statement: statements };
}
