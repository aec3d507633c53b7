// Gathers the facts about the cluster: reads and reviews only, so nothing is written.

import { otherControllerFor } from "../../app/configuration/cloud-settings.ts";
import { classesOf } from "../../app/flags/controller-settings.ts";
import { type LeaseFact, leaseFact } from "../../app/leadership/judge-leases.ts";
import { findLeadership, readLease, readLeases } from "../../app/leadership/read-leases.ts";
import { isSelectedBy } from "../../app/manager/compose-nodes.ts";
import type { Operator } from "../../app/operator.ts";
import { accessNeeds, leaseOf, type Permission, permissionsOf } from "../../app/permissions.ts";
import type { ServerTimes } from "../../app/report/server-times.ts";
import { isForeignClass, wantsLoadBalancer } from "../../controllers/service/predicates.ts";
import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { textOf } from "../../core/error-message.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll, listPages } from "../../kube/client/list-all.ts";
import { isKubeError, undefinedIf } from "../../kube/errors/kube-error.ts";
import type { Event, Service } from "../../kube/objects.ts";
import { events, services } from "../../kube/resources.ts";
import {
  driverFacts,
  driverNodeFacts,
  nodeFacts,
  podFacts,
  signingRequestFacts,
  type WorkloadFact,
  workloadFacts,
} from "./raw-objects.ts";

/** A value, or why it could not be read. */
export type Read<T> = { readonly value: T } | { readonly unread: string };

export interface AccessFact {
  /** The user or service account that was checked; undefined if the API server does not name the user. */
  readonly subject: string | undefined;
  /** Whether the manager runs as this subject; otherwise it is the kubeconfig's subject. */
  readonly isOfWorkload: boolean;
  /** Whether the subject may do everything: it is an administrator, and probably not a manager's user. */
  readonly isAdmin: boolean;
  readonly refused: readonly Permission[];
}

/** A manager's request that the API server rejected according to an event, and would still reject. */
export interface RefusalFact {
  /** The object, such as "Service default/web". */
  readonly object: string;
  readonly user: string;
  /** The request, such as "patch services/status". */
  readonly what: string;
  /** Time since the event. */
  readonly age: Milliseconds;
}

interface ClusterSources extends Operator {
  /** Has no write gate, and a transport that admits only reads and reviews. */
  readonly api: KubeApi;
  readonly times: ServerTimes;
}

async function read<T>(signal: AbortSignal, get: () => Promise<T>): Promise<Read<T>> {
  try {
    return { value: await get() };
  } catch (error) {
    signal.throwIfAborted();
    if (!isKubeError(error)) throw error;
    return { unread: textOf(error) };
  }
}

const review = (api: KubeApi, group: string, plural: string, body: object, signal: AbortSignal) =>
  api.request({ verb: "create", resource: plural, path: `/apis/${group}/v1/${plural}`, body }, signal);

/** The API server's name for these credentials. */
async function ownName(api: KubeApi, signal: AbortSignal): Promise<string> {
  const group = "authentication.k8s.io";
  const body = { apiVersion: `${group}/v1`, kind: "SelfSubjectReview" };
  // API servers before Kubernetes 1.28 do not support this review.
  const answer = await review(api, group, "selfsubjectreviews", body, signal).catch(undefinedIf());
  const { status } = (answer ?? {}) as {
    readonly status?: { readonly userInfo?: { readonly username?: string } };
  };
  return status?.userInfo?.username ?? "";
}

/** The groups that the API server adds to a service account. */
function groupsOf(user: string): readonly string[] | undefined {
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(user) ?? [];
  return namespace === undefined
    ? undefined
    : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

/** Whether the credentials of this command, or another user, may do something. */
async function isAllowed(
  api: KubeApi,
  user: string | undefined,
  { resource, ...attributes }: Omit<Permission, "users" | "isOptional">,
  signal: AbortSignal,
): Promise<boolean> {
  const group = "authorization.k8s.io";
  const kind = user === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const [plural, subresource = ""] = resource.split("/");
  const spec = {
    ...defined({ user, groups: user === undefined ? undefined : groupsOf(user) }),
    resourceAttributes: { ...attributes, resource: plural, subresource },
  };
  const body = { apiVersion: `${group}/v1`, kind, spec };
  const answer = await review(api, group, `${kind.toLowerCase()}s`, body, signal);
  return (answer as { readonly status?: { readonly allowed?: boolean } }).status?.allowed === true;
}

const refusedRequest =
  /User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

/** Services of type LoadBalancer: those that Fairlead serves, and those with a different class. */
async function readServices(
  { api, provider, settings }: ClusterSources,
  signal: AbortSignal,
): Promise<{ readonly served: readonly Service[]; readonly ofOthers: readonly Service[] }> {
  const classes = classesOf(settings.flags);
  const all = await listAll(api, services, signal);
  const isServed = (service: Service): boolean =>
    wantsLoadBalancer(service, classes) && otherControllerFor(provider, service, classes) === undefined;
  return {
    served: all.filter(isServed),
    ofOthers: all.filter((service) => isForeignClass(service, classes)),
  };
}

/** Limits the time that a large cluster takes. */
const maxWarningPages = 20;

/** Requests of the last hour that would still be rejected: one per permission. */
async function readRefusals(
  { api }: ClusterSources,
  now: number,
  signal: AbortSignal,
): Promise<{ readonly found: readonly RefusalFact[]; readonly isCut: boolean }> {
  const items: Event[] = [];
  let pages = 0;
  for await (const page of listPages(api, events, { fieldSelector: "type=Warning" }, signal)) {
    pages += 1;
    if (pages > maxWarningPages) break;
    items.push(...page.filter(({ message = "" }) => message.includes("The API server returned 403")));
  }
  const byPermission = new Map<string, RefusalFact & { readonly permission: RegExpExecArray }>();
  for (const { message = "", lastTimestamp, eventTime, metadata, involvedObject } of items) {
    const permission = refusedRequest.exec(message);
    const age = now - Date.parse(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "");
    if (permission === null || age > minutes(60)) continue;
    const { kind = "", namespace, name = "" } = involvedObject ?? {};
    const object = `${kind} ${namespace === undefined || kind === "Node" ? "" : `${namespace}/`}${name}`;
    const [, user = "", verb = "", resource = "", group = ""] = permission;
    const what = `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
    const before = byPermission.get(permission[0]);
    if (before === undefined || age < before.age)
      byPermission.set(permission[0], { object, user, what, age: milliseconds(age), permission });
  }
  const found = [...byPermission.values()].map(async ({ permission, ...refusal }) => {
    const [, user, verb = "", resource = "", group = "", namespace] = permission;
    const asked = { verb, resource, group, ...defined({ namespace }) };
    const isGranted = await isAllowed(api, user, asked, signal).catch((error: unknown) => {
      // Without permission to review other users, earlier rejections are shown.
      if (!isKubeError(error, "forbidden")) throw error;
      return false;
    });
    return isGranted ? [] : [refusal];
  });
  return { found: (await Promise.all(found)).flat(), isCut: pages > maxWarningPages };
}

/** Checks the workload's service account, if it exists; otherwise this command's credentials. */
async function readAccess(
  { api, settings }: ClusterSources,
  workload: WorkloadFact | undefined,
  signal: AbortSignal,
): Promise<AccessFact> {
  const name = await ownName(api, signal);
  const namespace = workload?.metadata.namespace ?? "";
  const account =
    workload === undefined ? undefined : `system:serviceaccount:${namespace}:${workload.serviceAccount}`;
  const isOther = account !== undefined && account !== name;
  const user = isOther ? account : undefined;
  const checked = await Promise.all(
    permissionsOf(accessNeeds(settings, settings.cloud.inputSecrets), leaseOf(settings.flags)).map(
      async ({ users, isOptional, ...asked }) => ({
        permission: { users, isOptional, ...asked },
        allowed: await isAllowed(api, user, asked, signal),
      }),
    ),
  );
  const everything = { verb: "*", group: "*", resource: "*" };
  return {
    subject: isOther ? account : name === "" ? undefined : name,
    isOfWorkload: workload !== undefined,
    isAdmin: workload === undefined && (await isAllowed(api, undefined, everything, signal)),
    refused: checked.flatMap(({ permission, allowed }) => (allowed ? [] : [permission])),
  };
}

/** The holder that was seen to renew the Lease, whatever the clocks show. */
async function readOwnLease(
  { api, settings: { flags }, platform: { clock } }: ClusterSources,
  signal: AbortSignal,
): Promise<LeaseFact | undefined> {
  const lease = await readLease(api, flags, signal);
  if (lease === undefined) return undefined;
  const leader = await findLeadership(api, flags, lease, clock, signal);
  const fact = leaseFact(lease);
  return { ...fact, holder: leader ?? fact.holder, isExpired: leader === undefined };
}

async function readWorkloads(
  { api, program }: ClusterSources,
  signal: AbortSignal,
): Promise<readonly WorkloadFact[]> {
  const lists = workloadFacts(program).map((resource) => listAll(api, resource, signal));
  return (await Promise.all(lists))
    .flat()
    .filter(({ isManager, isThisProgram }) => isManager || isThisProgram);
}

/** The CSI drivers, and the drivers that have registered on each Node. */
async function readDrivers(api: KubeApi, signal: AbortSignal) {
  const [installed, registered] = await Promise.all([
    listAll(api, driverFacts, signal),
    listAll(api, driverNodeFacts, signal),
  ]);
  return {
    installed: installed.map(({ metadata }) => metadata.name),
    byNode: new Map(registered.map(({ metadata, drivers }) => [metadata.name, drivers])),
  };
}

export type ClusterFacts = Awaited<ReturnType<typeof gatherCluster>>;

/** Throws a KubeError if the API server does not answer. */
export async function gatherCluster(sources: ClusterSources, signal: AbortSignal) {
  const { api, times, settings, platform } = sources;
  const version = (await api.request({ verb: "get", resource: "version", path: "/version" }, signal)) as {
    readonly gitVersion?: string;
    readonly minor?: string;
  };
  const serverClock = times.of(api.origin);
  const now = platform.clock.now() + (serverClock?.aheadMs ?? 0);
  const [workloads, lease, nodes, served, refusals, pods, signingRequests, drivers, otherLeases] =
    await Promise.all([
      read(signal, () => readWorkloads(sources, signal)),
      read(signal, () => readOwnLease(sources, signal)),
      read(signal, () => listAll(api, nodeFacts(isSelectedBy(settings.flags)), signal)),
      read(signal, () => readServices(sources, signal)),
      read(signal, () => readRefusals(sources, now, signal)),
      read(signal, () => listAll(api, podFacts, signal, "kube-system")),
      read(signal, () => listAll(api, signingRequestFacts, signal)),
      read(signal, () => readDrivers(api, signal)),
      read(signal, async () => (await readLeases(api, settings.flags, now, signal)).others),
    ]);
  const workload =
    "value" in workloads ? workloads.value.find(({ isThisProgram }) => isThisProgram) : undefined;
  const access = await read(signal, () => readAccess(sources, workload, signal));
  return {
    origin: api.origin,
    access,
    lease,
    otherLeases,
    nodes,
    services: served,
    refusals,
    pods,
    workloads,
    signingRequests,
    drivers,
    gitVersion: version.gitVersion ?? "an unknown version",
    minor: Number.parseInt(version.minor ?? "", 10),
    /** The time of the API server, which also set the creation times of the objects. */
    now,
    clock: serverClock,
  };
}
