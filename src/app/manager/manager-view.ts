// What may be asked of a running manager: by the pages, by the health checks, by tests. It shows and changes nothing.

import type { Inventory } from "../../cloud/inventory.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { Journal } from "../../runtime/journal.ts";
import { type ConnectedCloud, shownCloud } from "../connect-cloud.ts";
import type { Flags } from "../flags/table.ts";
import type { Leadership } from "../leadership/leadership.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { CloudContact } from "./cloud-contact.ts";
import type { composeControllers } from "./compose-controllers.ts";
import type { Watched } from "./watch-resource.ts";

export interface ViewParts {
  readonly flags: Flags;
  readonly identity: string;
  readonly startedAt: number;
  readonly journal: Journal;
  readonly metrics: ManagerMetrics;
  readonly inventory: Inventory;
  readonly connected: ConnectedCloud;
  readonly contact: CloudContact;
  readonly leadership: Leadership;
  readonly leads: () => boolean;
  readonly composed: ReturnType<typeof composeControllers>;
  /** Names of the tasks that run while this replica leads. */
  readonly running: readonly string[];
  /** Those that run: what nobody needs is not watched. */
  readonly watches: Readonly<Record<string, Pick<Watched, "cache" | "isSynced" | "stalled">>>;
  readonly events: { readonly pending: number };
  /** For reviews and what the cluster says of access: places of their own, no gate. */
  readonly reserved: KubeApi;
  readonly onKubeRequest: (request: RequestObservation) => void;
}

export function viewOf(parts: ViewParts) {
  const { flags, identity, startedAt, journal, metrics, inventory, connected, contact } = parts;
  const { leadership, leads, composed, running, watches, events, reserved, onKubeRequest } = parts;
  const { node, lifecycle, service, route, queues } = composed;
  const watched = Object.values(watches);
  return {
    ...{ flags, identity, startedAt, journal, metrics, inventory, queues, leads, reserved, onKubeRequest },
    mode: flags.mode,
    connections: { apiServer: reserved.origin, ...shownCloud(connected) },
    accounts: connected.accounts,
    balancers: service?.listing,
    membersOf: (group: string) => service?.membersOf(group) ?? [],
    orphans: () => service?.orphans() ?? [],
    serviceProblems: () => service?.activeProblems() ?? new Map<string, readonly string[]>(),
    routes: () => route?.last(),
    problems: node.problems.all,
    candidates: lifecycle.candidates,
    controllers: running,
    caches: () => Object.fromEntries(Object.entries(watches).map(([name, { cache }]) => [name, cache()])),
    /** A replica that waits asks the cloud nothing, so it knows nothing against it. */
    cloudProblem: (): string | undefined => (leads() ? contact.problem : undefined),
    /** What stands against counting this process as healthy, as upstream's `leaderElection` check. */
    leadershipHealth: leadership.health,
    /** Why this process should be ended from outside: something that never rests has stood still. */
    stalled: (): string | undefined =>
      leadership.health() ??
      leadership.stalled() ??
      watched.map(({ stalled }) => stalled()).find((why) => why !== undefined),
    pendingEvents: () => events.pending,
    isIdle: () =>
      watched.every(({ isSynced }) => isSynced()) &&
      Object.values(queues).every(({ depth, active }) => depth === 0 && active === 0) &&
      events.pending === 0,
  };
}
