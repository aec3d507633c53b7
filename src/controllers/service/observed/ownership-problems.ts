// Reports what the marks in the cloud say about a Service: its load balancer belongs to another cluster, or the one that it wants to
// adopt cannot be adopted. Errors hold the creation of a load balancer. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { AnyBalancers, Desired } from "../deps.ts";
import type { Member } from "../desired/member.ts";

export interface OwnershipContext {
  readonly balancers: Pick<AnyBalancers, "adopts" | "requestsAdoption">;
  /** The value of --cluster-name. */
  readonly clusterName: string;
  /** The load balancers of the latest listing. */
  readonly listed: readonly ObservedLoadBalancer[];
  /** The load balancer of the group. */
  readonly observed: ObservedLoadBalancer | undefined;
  /** The load balancer of the group is being removed, so that of another cluster is not the one that the Service had. */
  readonly isRemoving: boolean;
  /** Whether the address of the Service is not that of this load balancer, so that it is not the one that the Service had. */
  readonly hadOther: (member: Member, balancer: ObservedLoadBalancer) => boolean;
  /** Names the Services that a load balancer serves. */
  readonly nameOwners: (balancer: ObservedLoadBalancer) => string;
}

/** Adds the problems of the marks to a member, and keeps its finalizer while only another cluster's load balancer exists. */
export function withOwnership(member: Member, context: OwnershipContext): Member {
  const { desired } = member;
  const all = foreignOf(context.listed, desired);
  // Only a deletion needs no more than the proof that its own one is absent.
  const suspect =
    desired.ending === undefined ? all[0] : all.find((balancer) => !context.hadOther(member, balancer));
  const isOwner =
    context.isRemoving ||
    suspect === undefined ||
    context.observed?.owners.includes(desired.owner.uid) === true;
  const foreign = suspect ?? all[0];
  const problems = [
    ...(foreign === undefined ? [] : [otherCluster(desired, foreign, isOwner, context.clusterName)]),
    ...(desired.ending === undefined ? adoptionProblems(desired, context) : []),
  ];
  if (problems.length === 0) return member;
  const isOnHold = member.isOnHold || (desired.ending !== undefined && foreign !== undefined && !isOwner);
  return { ...member, problems: [...member.problems, ...problems], isOnHold };
}

const holdReasons: readonly string[] = ["BelongsToOtherCluster", "AdoptionNotFound", "AdoptionRefused"];

/** Whether only a change in the cloud or of the annotation lets the Service continue. */
export function isHeldByOwnership({ problems }: Pick<Member, "problems">): boolean {
  return problems.some(({ severity, reason }) => severity === "error" && holdReasons.includes(reason));
}

const byOwner = new WeakMap<readonly ObservedLoadBalancer[], Map<string, ObservedLoadBalancer[]>>();

/** Load balancers with another cluster's mark that serve this Service. Indexed once per listing. */
function foreignOf(
  listed: readonly ObservedLoadBalancer[],
  { owner }: Desired,
): readonly ObservedLoadBalancer[] {
  let index = byOwner.get(listed);
  if (index === undefined) {
    index = new Map();
    for (const balancer of listed) {
      if (balancer.ownership !== "foreign") continue;
      for (const uid of balancer.owners) index.set(uid, [...(index.get(uid) ?? []), balancer]);
    }
    byOwner.set(listed, index);
  }
  return index.get(owner.uid) ?? [];
}

const nameOf = ({ owner }: Desired): string => `${owner.namespace}/${owner.name}`;

function otherCluster(
  desired: Desired,
  { name, cluster }: ObservedLoadBalancer,
  hasOwn: boolean,
  clusterName: string,
): Problem {
  const reason = "BelongsToOtherCluster";
  const other = cluster === undefined ? "another cluster" : `cluster ${cluster}`;
  const belongs = `${name === undefined ? "" : `${name} `}of ${nameOf(desired)} belongs to ${other}; this manager runs as ${clusterName}`;
  if (hasOwn) {
    const text = `A second load balancer ${belongs}. It is not changed. If that cluster no longer exists, delete it in the cloud.`;
    return { severity: "warning", reason, text };
  }
  if (desired.ending !== undefined) {
    const text = `The load balancer ${belongs}. It may be the one that the Service had, so it is not deleted, and the Service keeps its finalizer. If it is, set --cluster-name to ${cluster ?? "the name of that cluster"} and restart, or change its mark in the cloud. If no cluster needs it, delete it in the cloud.`;
    return { severity: "error", reason, text };
  }
  const setting = cluster === undefined ? "the name of that cluster" : cluster;
  const text = `The load balancer ${belongs}. Nothing is created, changed or deleted for this Service. If the name is wrong, set --cluster-name to ${setting} and restart. If the cluster was renamed, change the mark of its load balancers in the cloud.`;
  return { severity: "error", reason, text };
}

function adoptionProblems(desired: Desired, context: OwnershipContext): readonly Problem[] {
  const { balancers, listed, observed } = context;
  const wanted = balancers.requestsAdoption?.(desired);
  if (wanted === undefined) return [];
  const names = (balancer: ObservedLoadBalancer): boolean => balancers.adopts?.(desired, balancer) === true;
  if (observed?.ownership === "ours") return names(observed) ? [] : [ignored(desired, wanted)];
  if (observed !== undefined) return [];
  const taken = listed.find((balancer) => balancer.ownership !== "unmarked" && names(balancer));
  return [taken === undefined ? notFound(desired, wanted) : refused(desired, wanted, taken, context)];
}

/** A lookup found, by an id on the Service that users can change, a load balancer that serves something else. */
export function foundOther(service: string, found: ObservedLoadBalancer, owners: string): Problem {
  const user = owners === "" ? "another cluster" : owners;
  return {
    severity: "error",
    reason: "BelongsToOtherService",
    text: `The load balancer${found.name === undefined ? "" : ` ${found.name}`} that the annotations or labels of ${service} identify belongs to ${user}. Nothing is created, changed or deleted for ${service}. Correct or remove the stored id of the load balancer.`,
  };
}

/** Also when the annotation was changed after the adoption. */
function ignored(desired: Desired, wanted: string): Problem {
  return {
    severity: "warning",
    reason: "AdoptionIgnored",
    text: `${nameOf(desired)} asks to adopt load balancer ${wanted}, but it already has another one, so this has no effect. Restore or remove the annotation. To adopt ${wanted}, name it on a new Service.`,
  };
}

function notFound(desired: Desired, wanted: string): Problem {
  return {
    severity: "error",
    reason: "AdoptionNotFound",
    text: `${nameOf(desired)} asks to adopt load balancer ${wanted}, which does not exist. No other one is created, because it would have another address. Correct the annotation, or remove it to create a new load balancer.`,
  };
}

function refused(
  desired: Desired,
  wanted: string,
  taken: ObservedLoadBalancer,
  { nameOwners }: OwnershipContext,
): Problem {
  const owners = taken.ownership === "ours" ? nameOwners(taken) : "";
  const cluster = taken.cluster === undefined ? "another cluster" : `cluster ${taken.cluster}`;
  const user =
    taken.ownership === "foreign" ? cluster : owners === "" ? "a Service that no longer exists" : owners;
  return {
    severity: "error",
    reason: "AdoptionRefused",
    text: `${nameOf(desired)} asks to adopt load balancer ${wanted}, which belongs to ${user}. It is not adopted, and no other one is created. Correct the annotation, or remove it to create a new load balancer.`,
  };
}
