// The health check results of a load balancer's instances: for a network load balancer by target group, as plans read them; for a
// classic load balancer only on a user's request.

import type { Call, TargetCheck } from "#ccm";
import { type Desired, nodesOf, type Observed } from "./balancer.ts";
import type { BalancingApi } from "./steps.ts";

/** Other states have no result yet, or belong to targets without health checks. */
const results: ReadonlyMap<string | null | undefined, boolean> = new Map([
  ["healthy", true],
  ["InService", true],
  ["unhealthy", false],
  ["OutOfService", false],
]);

export function healthOf(
  desired: Desired,
  { targetGroups, inDepth, instanceHealth = [] }: Observed,
): readonly TargetCheck[] {
  const nodes = new Map(Object.entries(nodesOf(desired)));
  const ofGroups = targetGroups
    .flatMap(({ TargetGroupArn: arn }) => inDepth?.targets[arn] ?? [])
    .map(({ Target: { Id, Port }, TargetHealth: health }) => {
      const why = health?.Description ?? health?.Reason;
      return { id: Id, state: health?.State, text: `port ${Port ?? ""}${why ? `: ${why}` : ""}` };
    });
  // The code ELB means that the registration of an instance is still in progress.
  const ofInstances = instanceHealth.flatMap(({ InstanceId: id, State: state, ReasonCode, Description }) =>
    ReasonCode === "ELB" ? [] : { id, state, text: Description ?? "" },
  );
  return [...ofGroups, ...ofInstances].flatMap(({ id, state, text }) => {
    const isHealthy = results.get(state);
    return isHealthy === undefined ? [] : { target: nodes.get(id) ?? id, isHealthy, text };
  });
}

export async function observeHealth(
  { elb, elbv2 }: BalancingApi,
  observed: Observed,
  call: Call,
): Promise<Observed> {
  const { lb, network, targetGroups, inDepth } = observed;
  if (network === undefined)
    return { ...observed, instanceHealth: await elb.describeInstanceHealth(lb, call) };
  const own = targetGroups.filter(({ isOwn }) => isOwn).map(({ TargetGroupArn }) => TargetGroupArn);
  const read = async (arn: string) => [arn, await elbv2.describeTargetHealth(arn, call)] as const;
  const targets = Object.fromEntries(await Promise.all(own.map(read)));
  const known = inDepth ?? { further: [], listeners: [], targetGroupAttributes: {} };
  return { ...observed, inDepth: { ...known, targets } };
}
