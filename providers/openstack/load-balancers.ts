// The load balancers of Octavia: found by their tags and names, changed one request at a time.

import {
  type Call,
  CloudError,
  type Context,
  collect,
  done,
  type FactChanges,
  ifFound,
  type JobState,
  type JsonRequest,
  jobStarted,
  KeyedLock,
  knownValues,
  type LoadBalancers,
  milliseconds,
  type Pending,
  parseIp,
  pendingJobs,
  publishIPs,
  type StepOutcome,
  whileMarked,
} from "#ccm";
import { atRevision, type OpenStackApi, requestOf, type ServiceApi } from "./api.ts";
import {
  type Annotations,
  type Desired,
  type Floating,
  floatingPart,
  healthOf,
  idOf,
  type Observed,
  type OpenStackStep,
  ownKeys,
  type Parts,
  type Prefetched,
  poolOf,
  settingsOf,
  stateOf,
  toObserved,
  viewFor,
} from "./balancer.ts";
import { isInternal } from "./choices.ts";
import { groupName, isOwnFloating, markOf, readMark, serviceOfGroup } from "./names.ts";
import { planLoadBalancer } from "./plan-balancer.ts";
import type {
  ApiBalancer,
  ApiExternalNetwork,
  ApiFloatingIP,
  ApiListener,
  ApiMember,
  ApiMonitor,
  ApiPool,
  ApiPort,
  ApiSecurityGroup,
  ApiSubnet,
} from "./resources.ts";
import { mainSource } from "./scopes.ts";
import type { Settings } from "./settings.ts";
import { activation, collection, creationTitle, deletionTitle, stepsFor } from "./steps.ts";

type Part = { readonly loadbalancers?: readonly { readonly id: string }[] };
/** Octavia returns a list, and each part has one load balancer. */
const byBalancer = <T extends Part>(all: readonly T[]): ReadonlyMap<string, readonly T[]> =>
  Map.groupBy(all, ({ loadbalancers }) => loadbalancers?.[0]?.id ?? "");

const readBalancer = ({ balancing }: OpenStackApi, id: string, call: Call) =>
  ifFound(balancing.read<ApiBalancer>(`${collection}/{id}`, id, "loadbalancer", call));

async function readParts({ balancing, network }: OpenStackApi, call: Call): Promise<Parts> {
  const own = <T>(api: ServiceApi, path: string) => collect(api.listOwn<T>(`/v2.0/${path}`, call));
  const [listeners, pools, monitors, floatingIPs, groups] = await Promise.all([
    own<ApiListener>(balancing, "lbaas/listeners"),
    own<ApiPool>(balancing, "lbaas/pools"),
    own<ApiMonitor>(balancing, "lbaas/healthmonitors"),
    own<ApiFloatingIP>(network, "floatingips"),
    own<ApiSecurityGroup>(network, "security-groups"),
  ]);
  return {
    listeners: byBalancer(listeners),
    pools: byBalancer(pools),
    monitors: Map.groupBy(monitors, ({ id }) => id),
    floatingIPs: Map.groupBy(floatingIPs, ({ port_id }) => port_id ?? ""),
    freeFloatingIPs: Map.groupBy(
      floatingIPs.filter(({ port_id }) => port_id === null),
      ({ description = "" }) => description,
    ),
    groups: Map.groupBy(groups, ({ name }) => serviceOfGroup(name)),
  };
}

/** Data that listings lack: members, ports with the security group, and the current status. */
async function completed(
  api: OpenStackApi,
  observed: Observed,
  group: string | undefined,
  call: Call,
): Promise<Observed | undefined> {
  const { balancing, network } = api;
  const pools = viewFor(observed).own.flatMap((listener) => poolOf(observed, listener) ?? []);
  const membersOf = async ({ id }: ApiPool) => {
    const path = `/v2.0/lbaas/pools/${id}/members`;
    return [id, (await ifFound(collect(balancing.list<ApiMember>(path, call)))) ?? []] as const;
  };
  const { id } = observed.balancer;
  // With an older status, requests would reach an immutable load balancer.
  const [balancer, members] = await Promise.all([
    readBalancer(api, id, call),
    Promise.all(pools.map(membersOf)),
  ]);
  if (balancer === undefined) return undefined;
  const securityGroup = observed.securityGroups.find(({ name }) => name === group);
  const query = { fields: ["id"], security_groups: securityGroup?.id };
  const ports =
    securityGroup === undefined ? [] : await collect(network.list<ApiPort>("/v2.0/ports", call, query));
  const { shallow: _, ...rest } = observed;
  return {
    ...rest,
    balancer,
    state: stateOf(balancer),
    members: Object.fromEntries(members),
    securityGroup,
    groupPorts: ports.map((port) => port.id),
  };
}

const identityOf = ({ balancer: { name, tags, listeners } }: Observed) => [name, tags, listeners];
/** Octavia changes `updated_at` of a pool with its members. */
const shownByListing = ({ mark, balancer, listeners, pools, monitors, ...rest }: Observed) => [
  ...[mark, balancer, listeners, pools, monitors],
  ...[rest.floatingIP, rest.freeFloatingIP, rest.securityGroups],
];

async function floatingOfPort(
  { network }: OpenStackApi,
  { balancer: { vip_port_id: port_id } }: Observed,
  call: Call,
): Promise<Pick<Observed, "floatingIP">> {
  if (!port_id) return {};
  const [floatingIP] = await collect(network.listOwn<ApiFloatingIP>("/v2.0/floatingips", call, { port_id }));
  return { floatingIP };
}

/**
 * The earlier observation, with these parts read again. Undefined if a listing has shown a change since, so that it decides, and
 * if all of it must be read, because only a listing shows the listeners, pools, health monitors and security groups.
 */
async function observeAgain(
  api: OpenStackApi,
  { owner, ending }: Desired,
  { listed, before }: { readonly listed: Observed; readonly before: Observed },
  parts: readonly string[],
  call: Call,
): Promise<Observed | undefined> {
  if (parts.includes("all")) return undefined;
  if (listed !== before && !Bun.deepEquals(shownByListing(listed), shownByListing(before))) return undefined;
  // A deletion does not rest on minutes-old data.
  const isEnding = ending !== undefined;
  if (parts.length === 0 && !isEnding) return before;
  const needsFloating = isEnding || parts.includes(floatingPart);
  const isOnlyFloating = !isEnding && parts.every((part) => part === floatingPart);
  const [floating, again] = await Promise.all([
    needsFloating ? floatingOfPort(api, before, call) : {},
    isOnlyFloating ? before : completed(api, before, groupName(owner), call),
  ]);
  if (again === undefined || !Bun.deepEquals(identityOf(again), identityOf(before))) return undefined;
  return { ...again, ...floating };
}

/**
 * Associates an existing floating IP with the address, or creates one in the first subnet that has a free address. Returns its
 * address.
 */
async function addFloatingIP(
  network: ServiceApi,
  { network: floating_network_id, subnets, address, port: port_id, description }: Floating,
  call: Call,
): Promise<string> {
  const send = async (request: JsonRequest): Promise<string> => {
    const { floatingip } = await network.call<{ readonly floatingip: ApiFloatingIP }>(request, call);
    return floatingip.floating_ip_address;
  };
  const query = { floating_ip_address: address };
  const found = network.listOwn<ApiFloatingIP>("/v2.0/floatingips", call, query);
  const [existing] = address === undefined ? [] : await collect(found);
  if (existing !== undefined) {
    const request = requestOf("PUT", `/v2.0/floatingips/${existing.id}`, { floatingip: { port_id } });
    if (existing.port_id === null || existing.port_id === port_id) return send(request);
    const text = `The floating IP ${address} of spec.loadBalancerIP is in use by the port ${existing.port_id}. The load balancer stays without one. Free it, or name another one.`;
    throw new CloudError("invalid", text, request);
  }
  const created = { floating_network_id, port_id, description, floating_ip_address: address };
  const create = async ([subnet_id, ...others]: readonly string[]): Promise<string> => {
    try {
      return await send(requestOf("POST", "/v2.0/floatingips", { floatingip: { ...created, subnet_id } }));
    } catch (error) {
      if (others.length === 0 || !CloudError.is(error) || error.detail.status !== 409) throw error;
      return create(others);
    }
  };
  return create(subnets);
}

/** Other clients change the security groups of a port, so the revision must be the one that was read. */
async function changePort(
  network: ServiceApi,
  { id, group, isAdded }: NonNullable<OpenStackStep["port"]>,
  call: Call,
): Promise<void> {
  const port = await ifFound(network.read<ApiPort>("/v2.0/ports/{id}", id, "port", call));
  const { security_groups: all = [] } = port ?? {};
  if (port === undefined || all.includes(group) === isAdded) return;
  const security_groups = isAdded ? [...all, group] : all.filter((one) => one !== group);
  const request = requestOf("PUT", `/v2.0/ports/${id}`, { port: { security_groups } });
  await network.call(atRevision(request, port.revision_number), call);
}

/** A user may have moved the floating IP to another port since the plan, or claimed it. */
async function isStillFloating(
  network: ServiceApi,
  { id, port, isOwn }: NonNullable<OpenStackStep["whileFloating"]>,
  call: Call,
): Promise<boolean> {
  const found = await ifFound(network.read<ApiFloatingIP>("/v2.0/floatingips/{id}", id, "floatingip", call));
  return found !== undefined && found.port_id === port && (!isOwn || isOwnFloating(found));
}

const active = "active";
const gone = "gone";
/** With the driver ovn, Octavia needs less than a second. Later checks are further apart. */
const firstCheck = milliseconds(250);

/** Waits until Octavia has finished its work on the load balancer. */
function octaviaWorks(
  balancer: Pick<ApiBalancer, "id" | "name">,
  { do: title }: OpenStackStep,
  remember: FactChanges | undefined,
): StepOutcome {
  const isEnd = title === deletionTitle;
  const waitingFor = isEnd ? `the load balancer ${balancer.name} to be deleted` : activation(balancer);
  const job = `${isEnd ? gone : active} ${balancer.id}`;
  return { ...jobStarted({ job, waitingFor }, remember), checkAfter: firstCheck };
}

async function apply(api: OpenStackApi, step: OpenStackStep, call: Call): Promise<StepOutcome> {
  const { request, waitsFor, remember, floating, port, service, whileFloating } = step;
  const facts = Object.entries(remember ?? {}).map(([name, value]) => [name, value || undefined]);
  const remembered = remember && Object.fromEntries(facts);
  if (floating !== undefined) {
    const address = await addFloatingIP(api.network, floating, call);
    return done({ address, creating: undefined });
  }
  if (port !== undefined) await changePort(api.network, port, call);
  if (whileFloating !== undefined && !(await isStillFloating(api.network, whileFloating, call)))
    return done(remembered);
  if (request === undefined) return done(remembered);
  const target = service === "network" ? api.network : api.balancing;
  const sent = target.call<{ readonly loadbalancer?: ApiBalancer } | undefined>(request, call);
  const answered =
    request.method === "DELETE" ? await ifFound(sent.then((body) => ({ body }))) : { body: await sent };
  if (step.do === creationTitle) {
    const created = answered?.body?.loadbalancer;
    if (created === undefined)
      throw new CloudError("unavailable", `${request.operation} returned no load balancer.`, request);
    return octaviaWorks(created, step, { id: created.id, creating: created.id });
  }
  // A 404 to the deletion contradicts the listing, so the next listing decides.
  if (waitsFor === undefined || answered === undefined) return done(remembered);
  return octaviaWorks(waitsFor, step, remembered);
}

/**
 * Applies the step only if the load balancer still has the tags that the plan saw. While it is PENDING, Octavia rejects further
 * changes.
 */
function applyWhileTagged(
  api: OpenStackApi,
  locks: KeyedLock,
  step: OpenStackStep,
  call: Call,
): Promise<StepOutcome> {
  const { whileTagged, request } = step;
  if (whileTagged === undefined) return apply(api, step, call);
  const { id, tags, listeners: known } = whileTagged;
  const read = async () => {
    const found = await readBalancer(api, id, call);
    if (found === undefined) return undefined;
    const added = (found.listeners ?? []).filter((one) => known?.includes(one.id) === false);
    const marks = [...(found.tags ?? []), ...added.map((one) => `listener ${one.id}`)];
    return { name: found.name, marks };
  };
  const operation = request?.operation ?? step.do;
  const rest = { step, operation, key: id, noun: "tags", planned: tags, read };
  return whileMarked(locks, rest, call, () => apply(api, step, call));
}

/** A single listing shows all PENDING load balancers. */
export function pendingBalancers(api: OpenStackApi): Pending {
  return pendingJobs({ limit: 50 }, async (jobs, call) => {
    const query = { fields: ["id", "provisioning_status"] };
    const listed = await collect(api.balancing.listOwn<ApiBalancer>(collection, call, query));
    const statuses = new Map(listed.map(({ id, provisioning_status }) => [id, provisioning_status]));
    const stateOf = async (job: string): Promise<JobState | undefined> => {
      const [kind, id = ""] = job.split(" ");
      const status = statuses.get(id);
      if (status?.startsWith("PENDING_") === true) return "running";
      if (status !== undefined && status !== "DELETED") return { facts: {} };
      if (kind !== gone) return undefined;
      const found = await readBalancer(api, id, call);
      return found === undefined || found.provisioning_status === "DELETED"
        ? // The Go manager fails for an id that names nothing, if it serves the Service next.
          { facts: { id: undefined, address: undefined }, isGone: true }
        : "running";
    };
    const states = await Promise.all(jobs.map(async (job) => [job, await stateOf(job)] as const));
    return new Map(states.flatMap(([job, state]) => (state === undefined ? [] : [[job, state] as const])));
  });
}

async function prefetch({ balancing, network }: OpenStackApi, call: Call): Promise<Prefetched> {
  const [root, externalNetworks, subnets] = await Promise.all([
    balancing.call<{ readonly versions: readonly { readonly id: string }[] }>(
      { ...requestOf("GET", "/"), expects: ["versions"] },
      call,
    ),
    collect(network.list<ApiExternalNetwork>("/v2.0/networks", call, { "router:external": true })),
    collect(network.list<ApiSubnet>("/v2.0/subnets", call)),
  ]);
  const minors = root.versions.flatMap(({ id }) => /^v2\.(\d+)$/.exec(id)?.[1] ?? []);
  return { octavia: Math.max(0, ...minors.map(Number)), externalNetworks, subnets };
}

/** An id may name a load balancer of another project, which an administrator sees. */
const isShown = (
  { provisioning_status: status, project_id: project }: ApiBalancer,
  own: string | undefined,
): boolean => status !== "DELETED" && (own === undefined || (project ?? own) === own);

/**
 * Looks a load balancer up by the id on the Service, or by name. The Service may join a load balancer of other Services, which
 * then has no mark of this Service.
 */
async function lookUp(
  api: OpenStackApi,
  member: Desired,
  cluster: string,
  call: Call,
): Promise<Observed | undefined> {
  const { balancing } = api;
  const { owner, ending } = member;
  const [mark, id] = [markOf(cluster, owner), idOf(member)];
  const project = await balancing.projectID(call);
  const found =
    id === undefined
      ? await collect(balancing.listOwn<ApiBalancer>(collection, call, { name: mark }))
      : [await readBalancer(api, id, call)];
  const balancer = found.find((one) => one !== undefined && isShown(one, project));
  if (balancer === undefined) return undefined;
  const views = toObserved(balancer, await readParts(api, call), cluster);
  const own = views.find((view) => view.mark === mark);
  const [other] = views;
  const common = { owners: [owner.uid], ownership: "ours" } as const;
  if (own !== undefined) return completed(api, { ...own, ...common }, groupName(owner), call);
  const isJoined = id !== undefined && ending === undefined && other !== undefined && other.mark !== "";
  return isJoined ? { ...other, ...common, mark: "", shallow: undefined } : undefined;
}

export function octaviaLoadBalancers(
  api: OpenStackApi,
  operator: Settings,
  { mark: { cluster }, announce }: Pick<Context, "mark" | "announce">,
): LoadBalancers<Annotations, Observed, OpenStackStep, Prefetched> {
  const { balancing } = api;
  const locks = new KeyedLock();
  const check = knownValues(announce, "loadbalancer.provisioning_status", [
    ...["ACTIVE", "DELETED", "ERROR", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"],
  ]);
  return {
    ownKeys: ownKeys(cluster),
    list: async function* (call) {
      const project = await balancing.projectID(call);
      const all = await collect(balancing.listOwn<ApiBalancer>(collection, call));
      for (const { provisioning_status: status } of all) check(status);
      const parts = await readParts(api, call);
      yield all.filter((one) => isShown(one, project)).flatMap((one) => toObserved(one, parts, cluster));
    },
    observe: async (desired, listed, call) => {
      if (listed !== undefined) return completed(api, listed, desired && groupName(desired.owner), call);
      return desired && lookUp(api, desired, cluster, call);
    },
    observeAgain: (desired, listed, before, parts, call) =>
      observeAgain(api, desired, { listed, before }, parts, call),
    // Services that name the same id share it.
    adopts: (desired, found) => found.mark === "" && found.balancer.id === idOf(desired) && "shared",
    prefetch: (_key, call) => prefetch(api, call),
    settingsOf,
    rangesOf: (observed) => {
      const [listener] = viewFor(observed).own;
      return listener && ((listener["allowed_cidrs"] ?? "unspecified") as "unspecified");
    },
    reaches:
      ({ settings }) =>
      ({ labels, machine }) => {
        if (machine !== undefined && machine.source !== mainSource(operator))
          return {
            byDesign: `their servers are in the scope ${machine.source}, and load balancers are in the project and region of [Global]`,
          };
        const selector = settings["node-selector"] ?? operator["node-selector"];
        return (
          selector?.matches(labels) !== false || {
            byDesign: `their labels do not match node-selector ${selector.text} of the settings`,
          }
        );
      },
    healthOf: (_, observed) => healthOf(observed),
    observeHealth: async (_, observed, call) => (await completed(api, observed, undefined, call)) ?? observed,
    plan: (desired, observed, prefetched) =>
      planLoadBalancer(desired, observed, { prefetched, operator, cluster }),
    apply: (step, call) => applyWhileTagged(api, locks, step, call),
    moveMark: ({ balancer, mark }) => {
      const read = readMark(mark);
      if (read === undefined) return [];
      const moved = markOf(cluster, read);
      const tags = (balancer.tags ?? []).map((tag) => (tag === mark ? moved : tag));
      const name = balancer.name === mark ? moved : balancer.name;
      return [stepsFor(balancer).balancer("rename load balancer", { name, tags })];
    },
    publish: (desired, { balancer, floatingIP } = {} as Observed) => {
      const waiting = activation({ name: balancer?.name ?? desired.owner.name, id: balancer?.id ?? "new" });
      const { hostname, "proxy-protocol": proxy } = desired.settings;
      if (balancer?.provisioning_status !== "ACTIVE") return { kind: "wait", waitingFor: waiting };
      if (hostname !== undefined) return { kind: "addresses", addresses: [{ hostname }] };
      const address =
        (isInternal(desired, operator) ? undefined : floatingIP?.floating_ip_address) ??
        balancer.vip_address ??
        "";
      const all = [address, ...(balancer.additional_vips ?? []).map(({ ip_address }) => ip_address)];
      if (proxy === "false") return publishIPs(all, waiting, "VIP");
      if (!operator["enable-ingress-hostname"]) return publishIPs(all, waiting, "Proxy");
      const name = `${parseIp(address) ?? address}.${operator["ingress-hostname-suffix"]}`;
      return { kind: "addresses", addresses: [{ hostname: name }] };
    },
    // Members are addresses. Only the ports of servers show the subnets of Nodes, and which ports need the security group.
    needsHandles:
      operator["subnet-id"] !== undefined &&
      !operator["manage-security-groups"] &&
      operator.scopes.length === 0
        ? false
        : undefined,
    supports: [
      "sourceRanges",
      "sessionAffinity",
      "healthCheckNodePort",
      "requestedAddress",
      "UDP",
      "SCTP",
      // The Octavia provider ovn has no weights.
      ...(operator["lb-provider"] === "ovn" ? [] : (["draining"] as const)),
    ],
  };
}
