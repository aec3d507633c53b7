// Determines which load balancer in the cloud belongs to which Service: by the marks in the latest listing, by adoption, and
// by choosing the managed one if several have the mark of one Service. Reports what prevents this.

import type { PossibleOwner } from "../../../cloud/inventory/balancer-owners.ts";
import type { BalancerInventory } from "../../../cloud/inventory/balancers.ts";
import { serviceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { FactPlace } from "../../../provider/plan.ts";
import type { AnyBalancers, Desired, ServiceControllerDeps } from "../deps.ts";
import { readFacts } from "../desired/facts.ts";
import type { Member } from "../desired/member.ts";
import type { OnDelete } from "../desired/on-delete.ts";
import { defaultLoadBalancerName } from "../desired/to-desired.ts";
import { hasFinalizer, hasOnlyOtherFinalizer, isManaged } from "../predicates.ts";
import type { ServedClasses } from "../served-classes.ts";
import { ingressOf, isOtherIngress } from "../status/status.ts";

/** For a cloud where the mark is on the Service. */
export function possibleOwners(
  services: readonly Service[],
  facts: Readonly<Record<string, FactPlace>>,
  classes: ServedClasses,
): readonly PossibleOwner[] {
  /** A Service must not adopt a load balancer that another manager created for a Service. */
  const isOwner = (service: Service): boolean =>
    isManaged(service, classes) || hasOnlyOtherFinalizer(service, classes);
  return services.filter(isOwner).map((service) => {
    const { metadata, status } = service;
    const uid = serviceUID(metadata.uid);
    const ingress = status.loadBalancer?.ingress ?? [];
    return {
      owner: { uid, namespace: metadata.namespace ?? "", name: metadata.name },
      defaultName: defaultLoadBalancerName(uid),
      facts: readFacts(service, facts),
      hasFinalizer: hasFinalizer(service, classes) || hasOnlyOtherFinalizer(service, classes),
      addresses: ingress.flatMap(({ ip }) => ip ?? []),
      hasHostname: ingress.some(({ hostname }) => hostname !== undefined),
      createdAt: metadata.creationTimestamp ?? "",
    };
  });
}

/** Whether an existing Service uses this load balancer. */
export function isUsed(
  { services }: Pick<ServiceControllerDeps, "services">,
  { owners }: ObservedLoadBalancer,
): boolean {
  return services.list().some(({ metadata }) => owners.includes(serviceUID(metadata.uid)));
}

/** True if the Service has a different address. This load balancer is then not its former load balancer. */
export function hadOther(
  balancers: Pick<AnyBalancers, "publish">,
  { service, desired }: Pick<Member, "service" | "desired">,
  balancer: ObservedLoadBalancer,
): boolean {
  const published = service.status.loadBalancer?.ingress ?? [];
  if (published.length === 0) return false;
  try {
    const publication = balancers.publish(desired, balancer);
    return publication.kind === "addresses" && isOtherIngress(published, ingressOf(publication));
  } catch {
    // The provider cannot read the mark of another cluster.
    return false;
  }
}

/** The existing Services that a load balancer serves, for messages. */
export function nameOwners(
  services: ServiceControllerDeps["services"],
  { owners }: ObservedLoadBalancer,
): string {
  const named = services.list().filter(({ metadata }) => owners.includes(serviceUID(metadata.uid)));
  return shortList(named.map(({ metadata }) => keyOf(metadata)));
}

interface Claims {
  /** A Service has its address. While the cloud changes the load balancer, it may publish no address. */
  readonly isInUse: (balancer: ObservedLoadBalancer) => boolean;
  /** Whether the load balancer was managed before. */
  readonly isManaged: (balancer: ObservedLoadBalancer) => boolean;
  /** Whether a Service has a different address. */
  readonly isOther: (balancer: ObservedLoadBalancer) => boolean;
}

/** The load balancer that is managed. */
export function primaryOf(
  candidates: readonly ObservedLoadBalancer[],
  { isInUse, isManaged, isOther }: Claims,
): ObservedLoadBalancer | undefined {
  const known = candidates.find(isInUse) ?? candidates.find(isManaged);
  if (known !== undefined) return known;
  const possible = candidates.filter((one) => !isOther(one));
  const [first, ...others] = possible.length === 0 ? candidates : possible;
  return [first, ...others].find((one) => one?.state === "ready") ?? first;
}

/** The effect of the Service's deletion. */
const outcomes = {
  delete: "Or delete the Service, which deletes all of them.",
  release: "Deleting the Service releases all of them, as on-delete requires, and they stay in the cloud.",
  "on hold": "The Service cannot be deleted until on-delete is corrected.",
} as const;

export function duplicatesFound(
  primary: string,
  duplicates: readonly string[],
  onDelete: OnDelete["kind"],
): Problem {
  return {
    severity: "warning",
    reason: "DuplicateLoadBalancer",
    text: `The cloud has ${duplicates.length + 1} load balancers with the mark of this Service. Fairlead manages ${primary} and does not change the others (${shortList(duplicates)}).`,
    remedy: `Delete the others in the cloud. ${outcomes[onDelete]}`,
  };
}

export function ambiguousAdoption(
  hits: readonly ObservedLoadBalancer[],
  rivals: readonly Service[],
): Problem {
  const names = hits.map(({ name }) => name).join(", ");
  const services = rivals.map(({ metadata }) => keyOf(metadata)).join(", ");
  return {
    severity: "error",
    reason: "AmbiguousAdoption",
    text:
      rivals.length === 0
        ? `${hits.length} load balancers match the one to adopt (${names}). None is adopted until the Service names exactly one.`
        : `The load balancer to adopt is also requested by ${services}. None adopts it until only one Service requests it.`,
  };
}

export interface OwnershipContext {
  readonly controller: Pick<ServiceControllerDeps, "balancers" | "clusterName" | "services">;
  readonly inventory: BalancerInventory;
  /** The load balancer of the Service. */
  readonly observed: ObservedLoadBalancer | undefined;
  /** True during removal. Another cluster's load balancer is then not the Service's former one. */
  readonly isRemoving: boolean;
}

/** The setting that names the cluster in marks instead of --cluster-name. */
const settingOf = ({ balancers: { marksNameCluster } }: OwnershipContext["controller"]) =>
  marksNameCluster || undefined;

const clusterNameOf = (controller: OwnershipContext["controller"]): string =>
  settingOf(controller)?.value ?? controller.clusterName;

/** Adds the problems of the marks to a member, and keeps its finalizer while only another cluster's load balancer exists. */
export function withOwnership(member: Member, context: OwnershipContext): Member {
  const { desired } = member;
  const all = context.inventory.foreignOf(desired.owner.uid);
  // Only a deletion requires no more than the proof that its own load balancer is absent.
  const suspect =
    desired.ending === undefined
      ? all[0]
      : all.find((balancer) => !hadOther(context.controller.balancers, member, balancer));
  const isOwner =
    context.isRemoving ||
    suspect === undefined ||
    context.observed?.owners.includes(desired.owner.uid) === true;
  const foreign = suspect ?? all[0];
  const problems = [
    ...(foreign === undefined ? [] : [otherCluster(desired, foreign, isOwner, context)]),
    ...(desired.ending === undefined ? adoptionProblems(desired, context) : []),
  ];
  if (problems.length === 0) return member;
  const isOnHold = member.isOnHold || (desired.ending !== undefined && foreign !== undefined && !isOwner);
  return { ...member, problems: [...member.problems, ...problems], isOnHold };
}

const holdReasons: readonly string[] = ["BelongsToOtherCluster", "AdoptionNotFound", "AdoptionRefused"];

/** Whether the Service waits for a change in the cloud or of an annotation. */
export function isHeldByOwnership({ problems }: Pick<Member, "problems">): boolean {
  return problems.some(({ severity, reason }) => severity === "error" && holdReasons.includes(reason));
}

/** The cluster name, with the uid if it is the name of this cluster. */
function clusterText({ cluster, clusterUID }: ObservedLoadBalancer, clusterName: string): string {
  if (cluster === undefined) return "another cluster";
  return cluster === clusterName ? `cluster ${cluster} (uid ${clusterUID})` : `cluster ${cluster}`;
}

const serviceName = ({ owner }: Desired): string => `${owner.namespace}/${owner.name}`;

function otherCluster(
  desired: Desired,
  balancer: ObservedLoadBalancer,
  hasOwn: boolean,
  { controller }: OwnershipContext,
): Problem {
  const clusterName = clusterNameOf(controller);
  const { name, cluster } = balancer;
  const reason = "BelongsToOtherCluster";
  const other = clusterText(balancer, clusterName);
  const belongs = `${name} of ${serviceName(desired)} belongs to ${other}; this manager runs as ${clusterName}`;
  if (hasOwn) {
    const text = `A second load balancer ${belongs}. It is not changed.`;
    const remedy = `If that cluster no longer exists, delete it in the cloud.`;
    return { severity: "warning", reason, text, remedy };
  }
  if (cluster === clusterName) {
    const text = `The load balancer ${belongs}, but with a different uid. Nothing is created, changed or deleted for this Service, and it keeps its finalizer.`;
    const remedy = `Check which cluster the kubeconfig names. If that cluster no longer exists, delete the load balancer in the cloud.`;
    return { severity: "error", reason, text, remedy };
  }
  const setting = cluster ?? "the name of that cluster";
  const own = settingOf(controller);
  const flag = own?.name ?? "--cluster-name";
  const unmark = "remove the mark of that cluster in the cloud";
  if (desired.ending !== undefined) {
    const move = own === undefined ? "move its mark with the command marks" : unmark;
    const text = `The load balancer ${belongs}. It may be the one that the Service had, so it is not deleted, and the Service keeps its finalizer.`;
    const remedy = `If it is, set ${flag} to ${setting} and restart, or ${move}. If no cluster needs it, delete it in the cloud.`;
    return { severity: "error", reason, text, remedy };
  }
  const move =
    own === undefined
      ? `If the cluster was renamed, run the command marks with --move-from=${setting}.`
      : `If that cluster has given it up, ${unmark}.`;
  const text = `The load balancer ${belongs}. Nothing is created, changed or deleted for this Service.`;
  const remedy = `If the name is wrong, set ${flag} to ${setting} and restart. ${move}`;
  return { severity: "error", reason, text, remedy };
}

function adoptionProblems(desired: Desired, context: OwnershipContext): readonly Problem[] {
  const { inventory, observed } = context;
  const { balancers } = context.controller;
  const wanted = balancers.requestsAdoption?.(desired);
  if (wanted === undefined) return [];
  const names = (balancer: ObservedLoadBalancer): boolean =>
    (balancers.adopts?.(desired, balancer) ?? false) !== false;
  if (observed?.ownership === "ours") return names(observed) ? [] : [ignored(desired, wanted)];
  if (observed !== undefined) return [];
  const taken = inventory.items.find((balancer) => balancer.ownership !== "unmarked" && names(balancer));
  return [taken === undefined ? notFound(desired, wanted) : refused(desired, wanted, taken, context)];
}

/** A lookup by an id on the Service, which users can change, found a load balancer that serves something else. */
export function foundOther(service: string, found: ObservedLoadBalancer, owners: string): Problem {
  const user = owners === "" ? "another cluster" : owners;
  return {
    severity: "error",
    reason: "BelongsToOtherService",
    text: `The load balancer ${found.name} that the annotations or labels of ${service} identify belongs to ${user}. Nothing is created, changed or deleted for ${service}.`,
    remedy: `Correct or remove the stored id of the load balancer.`,
  };
}

/** Applies when the annotation was changed after the adoption. */
function ignored(desired: Desired, wanted: string): Problem {
  return {
    severity: "warning",
    reason: "AdoptionIgnored",
    text: `${serviceName(desired)} asks to adopt load balancer ${wanted}, but it already has a different one, so this has no effect.`,
    remedy: `Restore or remove the annotation. To adopt ${wanted}, name it on a new Service.`,
  };
}

function notFound(desired: Desired, wanted: string): Problem {
  return {
    severity: "error",
    reason: "AdoptionNotFound",
    text: `${serviceName(desired)} asks to adopt load balancer ${wanted}, which does not exist. No other one is created, because it would have a different address.`,
    remedy: "Correct the annotation, or remove it to create a new load balancer.",
  };
}

function refused(
  desired: Desired,
  wanted: string,
  taken: ObservedLoadBalancer,
  { controller }: OwnershipContext,
): Problem {
  const owners = taken.ownership === "ours" ? nameOwners(controller.services, taken) : "";
  const user =
    taken.ownership === "foreign"
      ? clusterText(taken, clusterNameOf(controller))
      : owners === ""
        ? "a Service that no longer exists"
        : owners;
  return {
    severity: "error",
    reason: "AdoptionRefused",
    text: `${serviceName(desired)} asks to adopt load balancer ${wanted}, which belongs to ${user}. It is not adopted, and no other one is created.`,
    remedy: "Correct the annotation, or remove it to create a new load balancer.",
  };
}
