// The manager's IAM policy: the actions that the code can call, by feature, and their prerequisites. Pure.

import type { PolicyNeeds } from "#ccm";
import { ec2Actions, elbActions, elbv2Actions, impliedActions, type Purpose } from "./api/actions.ts";

/** The purposes in the order of the statements. */
const purposes: Readonly<Record<Purpose, { readonly sid: string; isNeeded(needs: PolicyNeeds): boolean }>> = {
  // Instances are listed whichever controllers run.
  nodes: { sid: "Nodes", isNeeded: () => true },
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

/** For the first load balancer of an account, Elastic Load Balancing creates its role with the permissions of the caller. */
const serviceLinkedRole = {
  Sid: "ServiceLinkedRole",
  Effect: "Allow",
  Action: ["iam:CreateServiceLinkedRole"],
  Resource: "*",
  Condition: { StringEquals: { "iam:AWSServiceName": "elasticloadbalancing.amazonaws.com" } },
};

export function iamPolicy(needs: PolicyNeeds): object {
  const statements = Object.entries(purposes).flatMap(([purpose, { sid, isNeeded }]) => {
    const isCreating = purpose === "load-balancers" && needs.isWriting;
    const all = permissions.flatMap(([name, uses]) =>
      (uses as readonly string[]).includes(purpose) ? [name] : [],
    );
    const called = all.filter((name) => needs.isWriting || name.includes(":Describe"));
    if (!isNeeded(needs) || called.length === 0) return [];
    const Action = [...new Set([...called, ...(isCreating ? impliedActions : [])])].toSorted();
    const own = { Sid: sid, Effect: "Allow", Action, Resource: "*" };
    return isCreating ? [own, serviceLinkedRole] : [own];
  });
  return { Version: "2012-10-17", Statement: statements };
}
