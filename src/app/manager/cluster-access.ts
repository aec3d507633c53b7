// How a manager reaches its cluster: the Leases and caches that determine which writes are allowed,
// and the API clients that check them before each write.

import { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import type { Redaction } from "../../core/redaction.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import { version } from "../build-info.ts";
import { ClusterIdentity } from "../cluster-identity.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { connectKube } from "../kube-client.ts";
import { CurrentCaches } from "../leadership/current-caches.ts";
import { type LeaderMigration, type LeasePlace, readMigrationOf } from "../leadership/leader-migration.ts";
import { Leadership } from "../leadership/leadership.ts";
import { reportSkew } from "../report/server-times.ts";
import { accountOf, ServiceAccountToken } from "../service-account-token.ts";
import type { Instruments } from "./instruments.ts";
import { ManagerEvents } from "./manager-events.ts";
import type { ManagerOptions } from "./manager-options.ts";

export interface ClusterAccess {
  readonly removals: RemovalMemory;
  /** Undefined without leader migration. */
  readonly migration: LeaderMigration | undefined;
  readonly leadership: Leadership;
  readonly caches: CurrentCaches;
  /** The client with the process's identity and a write gate. */
  readonly api: KubeApi;
  /** The client in the reserved lane, without a write gate. */
  readonly reserved: KubeApi;
  readonly events: ManagerEvents;
  readonly identity: ClusterIdentity;
  /** Whether writes are allowed under this Lease, and with the caches that this controller needs. */
  gateOf(place: Exclude<LeasePlace, "elsewhere">, task?: ControllerName): WriteGate;
  /** The client with the controller's identity and write gate. */
  clientOf(task: ControllerName): KubeApi;
}

export interface ClusterAccessDeps {
  readonly name: string;
  readonly identity: string;
  readonly redaction: Redaction;
  readonly instruments: Instruments;
  /** Whether the marks in the cloud contain the --cluster-name. */
  readonly marksNameCluster: () => boolean;
}

/** Throws a ConfigurationError for an invalid leader migration. */
export async function accessCluster(
  { settings, platform, log, onStatus }: ManagerOptions,
  { name, identity, redaction, instruments, marksNameCluster }: ClusterAccessDeps,
  signal: AbortSignal,
): Promise<ClusterAccess> {
  const { flags } = settings;
  const { clock, random, files } = platform;
  const { metrics, requests, permissions, apiServerProblems, garbage, grantHint, tracing } = instruments;
  const { deprecations } = instruments;
  const { migration, problems } = await readMigrationOf(flags, files);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const onProblem = (error: unknown): void => apiServerProblems.failed(error);
  const removals = new RemovalMemory(clock);
  const leadership = new Leadership({
    flags,
    program: name,
    identity,
    clock,
    random,
    log,
    migration,
    onSession: (lease, isLeader) => {
      metrics.leads(lease, isLeader);
      onStatus?.(isLeader ? `Leader of Lease ${lease}` : `Standby: waiting for Lease ${lease}`);
    },
    onProblem,
    onSlowPath: metrics.slowElection,
    removals,
    marksNameCluster,
  });
  const caches = new CurrentCaches({ clock, log, stop: signal });
  const gateOf: ClusterAccess["gateOf"] = (place, task) => {
    const holdsLease = leadership.gateOf(place);
    const isCurrent = caches.gateFor(task);
    return () => {
      const allowed = holdsLease();
      return allowed === true ? isCurrent() : allowed;
    };
  };
  const { api, reserved, withToken } = await connectKube(
    flags,
    { ...platform, transport: reportSkew(platform.transport, clock, log) },
    {
      userAgent: `${name}/${version}`,
      mayWrite: gateOf("main"),
      onRequest: (request) => {
        requests.kube(request);
        permissions.observe(request);
      },
      onDecoded: (bytes) => garbage.add(bytes),
      onAnnounced: (found) => deprecations.note("kubernetes", found),
      traceparent: tracing?.traceparent,
      redact: redaction.apply,
      howToGrant: grantHint,
    },
    signal,
  );
  metrics.kube.serverIs(api.origin);
  const cluster = new ClusterIdentity({ api, clock, log, onProblem });
  caches.follow(cluster);
  const events = new ManagerEvents({
    api,
    clock,
    random,
    log,
    mayWrite: () => leadership.anyGate(),
    onLost: (why, { reason, object }) => {
      metrics.kube.lostEvent(why);
      log.debug(2, "Dropped an event", { why, reason, object: object.name });
    },
  });
  const accounts = new Map<string, KubeApi>();
  /** Observe mode writes nothing, not even a service account. */
  const ownClientOf = (task: ControllerName): KubeApi => {
    const hasOwn = flags["use-service-account-credentials"] && flags.mode !== "observe";
    const account = hasOwn ? accountOf[task] : undefined;
    if (account === undefined) return api;
    const client = accounts.get(account) ?? withToken(new ServiceAccountToken(account, reserved, clock));
    accounts.set(account, client);
    return client;
  };
  const clientOf = (task: ControllerName): KubeApi =>
    ownClientOf(task).as({ mayWrite: gateOf(leadership.placeOf(task), task) });
  return {
    removals,
    migration,
    leadership,
    caches,
    api,
    reserved,
    events,
    identity: cluster,
    gateOf,
    clientOf,
  };
}
