// The steps from the observed to the wanted listeners, pools, members and health monitors. Pure.

import { changedTargets, hasAll } from "#ccm";
import type { Observed, OpenStackStep } from "./balancer.ts";
import { detachedPools, isForwarding, membersPart, monitorOf, poolOf, viewFor } from "./balancer.ts";
import type { ApiListener, ApiMember, ApiMonitor, ApiPool } from "./resources.ts";
import type { MemberSpec, MonitorSpec, PortSpec } from "./spec.ts";
import type { Steps } from "./steps.ts";

/** Two listeners may have the same port if one is for UDP and the other for TCP. */
const transportOf = (protocol: string): string => (["UDP", "SCTP"].includes(protocol) ? protocol : "TCP");

const hasPortOf = (
  listener: Pick<ApiListener, "protocol" | "protocol_port">,
  wanted: PortSpec["listener"],
): boolean =>
  listener.protocol_port === wanted.protocol_port &&
  transportOf(listener.protocol) === transportOf(wanted.protocol);

/** The listeners of other Services or programs on this Service's ports, and its ports without such a listener. */
export function conflictsOf(observed: Observed, ports: readonly PortSpec[]) {
  const { taken } = viewFor(observed);
  const isOn = (one: ApiListener, { listener }: PortSpec): boolean => hasPortOf(one, listener);
  return {
    conflicts: taken.flatMap(({ listener: one }) => (ports.some((port) => isOn(one, port)) ? one : [])),
    free: ports.filter((port) => !taken.some(({ listener: one }) => isOn(one, port))),
  };
}

/** Weights that a user has set stay until the members change, except 0, which is the weight of a draining member. */
const memberKey = ({ name, address, protocol_port, monitor_port, weight }: MemberSpec | ApiMember): string =>
  [name, address, protocol_port, monitor_port ?? 0, weight === 0].join(" ");

/** The values that a listener lacks. Its name has no meaning, and its tags and headers stay. */
function listenerChanges(listener: ApiListener, wanted: PortSpec["listener"]): object {
  const { name: _, protocol, protocol_port, tags: marks, insert_headers: headers, ...rest } = wanted;
  const tags = new Set(listener.tags ?? []);
  const mark = marks?.[0];
  const isForwardingNow = isForwarding(listener);
  const { "X-Forwarded-For": __, ...others } = (listener["insert_headers"] ?? {}) as Readonly<
    Record<string, string>
  >;
  const changed = Object.entries(rest).filter(
    ([member, value]) => !hasAll(listener[member] ?? (Array.isArray(value) ? [] : undefined), value),
  );
  return {
    ...Object.fromEntries(changed),
    ...(mark !== undefined && !tags.has(mark) && { tags: [...tags, mark] }),
    ...(isForwardingNow !== (headers !== undefined) && {
      insert_headers: { ...others, ...headers },
    }),
  };
}

const poolRemoval = ({ id, name }: ApiPool, steps: Steps): OpenStackStep =>
  steps.change("delete pool", name, "DELETE", `pools/${id}`);

function removalOf(observed: Observed, listener: ApiListener, steps: Steps): readonly OpenStackStep[] {
  const pool = poolOf(observed, listener);
  return [
    ...(pool === undefined ? [] : [poolRemoval(pool, steps)]),
    steps.change("delete listener", listener.name, "DELETE", `listeners/${listener.id}`),
  ];
}

function monitorSteps(
  pool: ApiPool,
  monitor: ApiMonitor | undefined,
  wanted: MonitorSpec | undefined,
  steps: Steps,
): readonly OpenStackStep[] {
  const deletion =
    monitor && steps.change("delete health monitor", monitor.name, "DELETE", `healthmonitors/${monitor.id}`);
  if (wanted === undefined) return deletion === undefined ? [] : [deletion];
  const creation = steps.change("create health monitor", wanted.name, "POST", "healthmonitors", {
    healthmonitor: { ...wanted, pool_id: pool.id },
  });
  if (monitor === undefined || deletion === undefined) return [creation];
  if (monitor.type !== wanted.type) return [deletion, creation];
  const { name, delay, timeout, max_retries, max_retries_down } = wanted;
  const healthmonitor = { name, delay, timeout, max_retries, max_retries_down };
  if (hasAll(monitor, healthmonitor)) return [];
  const path = `healthmonitors/${monitor.id}`;
  return [steps.change("change health monitor", monitor.name, "PUT", path, { healthmonitor })];
}

function poolSteps(
  observed: Observed,
  listener: ApiListener,
  wanted: PortSpec,
  steps: Steps,
): readonly OpenStackStep[] {
  const { pool: spec, members, monitor } = wanted;
  const pool = poolOf(observed, listener);
  const creation = steps.change("create pool", spec.name, "POST", "pools", {
    pool: { ...spec, listener_id: listener.id },
  });
  if (pool === undefined) return [creation];
  // The protocol of a pool cannot be changed.
  if (pool.protocol !== spec.protocol) return [poolRemoval(pool, steps), creation];
  const { lb_algorithm, session_persistence } = spec;
  const isSame =
    pool.lb_algorithm === lb_algorithm && pool.session_persistence?.type === session_persistence?.type;
  const wantedPool = { pool: { lb_algorithm, session_persistence } };
  const current = observed.members?.[pool.id];
  const [has, wants] = [new Set(current?.map(memberKey)), new Set(members.map(memberKey))];
  const isComplete =
    current === undefined || (has.size === wants.size && [...wants].every((key) => has.has(key)));
  const nodes = Object.fromEntries(members.map(({ name, address }) => [address, name]));
  const changesFrom = (all: readonly ApiMember[]) =>
    changedTargets(
      nodes,
      all.map(({ address }) => address),
    );
  // A Node that another pool already contains is not a new target: only its port is new.
  const adds = changesFrom(Object.values(observed.members ?? {}).flat())?.adds;
  const targets = { adds, removes: changesFrom(current ?? [])?.removes };
  const batch = steps.change("change members", pool.name, "PUT", `pools/${pool.id}/members`, { members });
  return [
    ...(isSame ? [] : [steps.change("change pool", pool.name, "PUT", `pools/${pool.id}`, wantedPool)]),
    ...(isComplete ? [] : [{ ...batch, targets, targetsPart: "all" as const, restsOn: [membersPart] }]),
    ...monitorSteps(pool, monitorOf(observed, pool), monitor, steps),
  ];
}

function listenerSteps(
  observed: Observed,
  wanted: PortSpec,
  balancer: string,
  steps: Steps,
): readonly OpenStackStep[] {
  const { listener: spec } = wanted;
  const listener = viewFor(observed).own.find((one) => hasPortOf(one, spec));
  const creation = steps.change("create listener", spec.name, "POST", "listeners", {
    listener: { ...spec, loadbalancer_id: balancer },
  });
  if (listener === undefined) return [creation];
  if (listener.protocol !== spec.protocol) return [...removalOf(observed, listener, steps), creation];
  const changes = { listener: listenerChanges(listener, spec) };
  const change = steps.change("change listener", listener.name, "PUT", `listeners/${listener.id}`, changes);
  const isSame = Object.keys(changes.listener).length === 0;
  return [...(isSame ? [] : [change]), ...poolSteps(observed, listener, wanted, steps)];
}

/**
 * The steps for all ports, followed by those for leftovers; without ports, everything that belongs to this Service in the load
 * balancer is removed.
 */
export function partSteps(
  observed: Observed,
  ports: readonly PortSpec[],
  steps: Steps,
): readonly OpenStackStep[] {
  const leftovers = viewFor(observed).own.filter(
    (one) => !ports.some(({ listener }) => hasPortOf(one, listener)),
  );
  return [
    ...ports.flatMap((port) => listenerSteps(observed, port, observed.balancer.id, steps)),
    ...leftovers.flatMap((listener) => removalOf(observed, listener, steps)),
    ...detachedPools(observed).map((pool) => poolRemoval(pool, steps)),
  ];
}
