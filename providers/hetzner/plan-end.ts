// Plans the removal of a load balancer that its Service no longer needs, or of the Service's part of a shared one. Pure.

import { type Plan, warningProblem } from "#ccm";
import type { Desired, HetznerStep, Observed } from "./balancer.ts";
import { isShared, ownerLabel, portMarksOf } from "./marks.ts";
import { reasons } from "./settings.ts";
import { labelsWithout } from "./shared-labels.ts";
import { leaveOf, type SharingContext } from "./sharing.ts";
import { change, deleteService, removeTarget, send, whileMarked } from "./steps.ts";

export function planEnd(
  desired: Desired | undefined,
  { balancer, owners: [uid] }: Observed,
  sharing: SharingContext,
): Plan<HetznerStep> {
  if (uid === undefined) return { steps: [] };
  const isProtected = balancer.protection.delete;
  const leave = desired?.ending === "release" ? undefined : leaveOf(balancer, uid, desired?.sharers, sharing);
  const labels = labelsWithout(balancer, uid);
  const hasOthers = portMarksOf(balancer).some((mark) => mark.uid !== uid);
  const releases: HetznerStep["releases"] = hasOthers ? "shared" : true;
  const release = { ...change(balancer, { labels }), unmarks: uid, releases };
  const rest = isShared(balancer) ? whileMarked(balancer) : (step: HetznerStep) => step;
  if (desired?.ending === "release") return { steps: [rest(release)] };
  if (leave !== undefined) {
    const services = leave.services.map((service) => deleteService(balancer, service));
    const targets = leave.targets.map((target) => removeTarget(balancer, target));
    return { steps: [...services, ...targets, { ...release, do: "leave load balancer" }].map(rest) };
  }
  if (!isProtected)
    return { steps: [rest(send(balancer, "delete load balancer", "DELETE /load_balancers/{id}"))] };
  const text = `The load balancer ${balancer.name} is protected against deletion, so it stays in the cloud, without the label ${ownerLabel}. Remove the protection and delete it there if it is not needed.`;
  const problems = [warningProblem(reasons.LoadBalancerProtected, text)];
  return { steps: [rest(release)], problems };
}
