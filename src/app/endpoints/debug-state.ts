// The state of the manager as JSON for /debug/state: problems, evidence, budgets, queues and the journal. It contains no
// credentials and no configuration.

import { removalKinds } from "../../controllers/removal-history.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/errors.ts";
import { keyOf } from "../../kube/objects.ts";
import { onlyPart } from "../../provider/listing-parts.ts";
import type { Manager } from "../manager/manager.ts";
import { version } from "../version.ts";

/** Longer lists are truncated; `count` has the full length. */
const maxListed = 1000;
const listed = <T>(items: readonly T[]) => ({ count: items.length, first: items.slice(0, maxListed) });
const at = (time: number): string => new Date(time).toISOString();
const secondsOf = (duration: number): number => Math.round(duration / 100) / 10;

export function debugState(manager: Manager, now: { readonly wall: number; readonly monotonic: number }) {
  return {
    at: at(now.wall),
    version,
    identity: manager.identity,
    mode: manager.mode,
    leads: manager.leads(),
    runsForSeconds: secondsOf(now.monotonic - manager.startedAt),
    isStalledBecause: manager.stalled(),
    /** Changed settings that take effect after a restart. */
    pendingRestart: manager.pendingRestart(),
    caches: manager.caches(),
    queues: Object.entries(manager.queues).map(([name, queue]) => ({
      name,
      waiting: queue.depth,
      delayed: queue.delayed,
      active: queue.active,
      /** When each delayed key is tried again. The key of a load balancer has the names of its Services. */
      next: listed(
        [...queue.dueTimes]
          .toSorted(([, a], [, b]) => a - b)
          .map(([key, due]) => ({
            key,
            ...(name === "service" && { services: manager.membersOf(key) }),
            inSeconds: secondsOf(Math.max(0, due - now.monotonic)),
          })),
      ),
    })),
    inventory: manager.inventory.sources.map(({ source, latest, failure }) => ({
      source: source.name,
      machines: latest?.items.length,
      ageSeconds: latest === undefined ? undefined : secondsOf(now.monotonic - latest.beganAt),
      failure: failure && {
        text: messageOf(failure.error),
        failingForSeconds: secondsOf(now.monotonic - failure.since),
        lastSecondsAgo: secondsOf(now.monotonic - failure.at),
      },
    })),
    /** The connection by which the cloud reports changes. Absent on standby replicas, and for clouds without one. */
    changes: changesOf(manager, now.monotonic),
    /** Sources to which the settings give no access. */
    unreadableSources: manager.inventory.unreadable,
    accounts: manager.accounts.map(({ name, budget, breakers }) => ({
      name,
      budget: budget.level,
      endpoints: breakers(),
    })),
    nodeProblems: listed(
      [...manager.problems].map(([node, { problem, count, since }]) => ({
        node,
        reason: problem.reason,
        text: problem.text,
        attempts: count,
        sinceSeconds: secondsOf(now.monotonic - since),
      })),
    ),
    /** Nodes that are left alone, or have an annotation without effect. */
    nodeNotices: listed([...manager.nodeNotices].map(([node, texts]) => ({ node, notices: [...texts] }))),
    evidenceOfAbsence: listed(
      [...manager.candidates].flatMap(([node, { evidence }]) =>
        evidence === undefined
          ? []
          : {
              node,
              notReadyForSeconds: secondsOf(now.monotonic - evidence.since),
              proofs: evidence.proofs.map(({ kind, asOf }) => ({
                kind,
                ageSeconds: secondsOf(now.monotonic - asOf),
              })),
            },
      ),
    ),
    serviceProblems: listed(serviceProblemsOf(manager)),
    balancers: listed(balancersOf(manager)),
    /** The listings of load balancers, one per part of the cloud. */
    balancerListings: (manager.balancers?.parts ?? []).map(({ name, listing: { latest, failure } }) =>
      defined({
        part: name === onlyPart ? undefined : name,
        ageSeconds: latest && secondsOf(now.monotonic - latest.beganAt),
        failure: failure && messageOf(failure.error),
      }),
    ),
    /** Load balancers that are neither created nor removed until an absence is proved. */
    balancersOnHold: listed(manager.balancerHolds()),
    /** What the mass limits count, and the names of what they hold. */
    massLimits: Object.fromEntries(
      removalKinds.map((kind) => {
        const { removals } = manager;
        return [kind, { recent: removals.count(kind), held: listed(removals.held(kind)) }] as const;
      }),
    ),
    orphans: listed(manager.orphans().map(({ group, name }) => defined({ group, name }))),
    /** The result of the last sync; of each table, if there are several. */
    routes: manager.lastRouteSync(),
    eventsWaiting: manager.pendingEvents(),
    journal: listed(
      manager.journal
        .entries()
        .toReversed()
        .map((entry) => ({ ...entry, at: at(entry.at) })),
    ),
  };
}

function changesOf({ changes }: Manager, now: number) {
  const state = changes?.state;
  if (state === undefined) return undefined;
  const { openSince, heardAt, failure } = state;
  return {
    openForSeconds: openSince && secondsOf(now - openSince),
    heardSecondsAgo: secondsOf(now - heardAt),
    failure,
  };
}

function serviceProblemsOf(manager: Manager) {
  return [...manager.serviceProblems()].map(([service, problems]) => ({ service, problems }));
}

/** Each load balancer with Fairlead's mark, with its Services and their addresses. */
function balancersOf(manager: Manager) {
  const services = new Map(manager.services.list().map((service) => [keyOf(service.metadata), service]));
  return (manager.balancers?.latest?.items ?? [])
    .filter(({ ownership }) => ownership === "ours")
    .map(({ group, state }) => {
      const members = manager.membersOf(group);
      const ingress = members.flatMap((key) => services.get(key)?.status?.loadBalancer?.ingress ?? []);
      const addresses = ingress.flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
      return { group, state, services: members, addresses: [...new Set(addresses)] };
    });
}
