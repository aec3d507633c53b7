// Reads cloud controller managers' Leases, for commands. The age from a single reading is only as accurate as the clocks.

import { milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import { isKubeError, undefinedIf } from "../../kube/errors/kube-error.ts";
import { holderOf, isSameRecord } from "../../kube/leader-election/lease-record.ts";
import type { Lease } from "../../kube/objects.ts";
import { leases } from "../../kube/resources.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { Operator } from "../operator.ts";
import { leaseOf } from "../permissions.ts";
import {
  judgeLease,
  judgeSeveral,
  type LeaderProblem,
  type LeaseFact,
  type LeaseLeader,
  leaseFact,
} from "./judge-leases.ts";
import { isObserver } from "./replica-identity.ts";

/** Undefined if the Lease does not exist. */
export const readLease = (
  api: Pick<KubeApi, "get">,
  flags: Flags,
  signal: AbortSignal,
): Promise<Lease | undefined> => api.get(leases, leaseOf(flags), signal).catch(undefinedIf("not-found"));

/** The new holder of the Lease, if the Lease was written since `before`. */
export function newLeader(before: Lease | undefined, now: Lease | undefined): string | undefined {
  if (now === undefined || holderOf(now) === "") return undefined;
  return before !== undefined && isSameRecord(before, now) ? undefined : holderOf(now);
}

const checkInterval = seconds(2);

/**
 * The leader: the holder that renews the Lease within its duration. As in any leader election, the time in
 * the Lease is not compared with the local clock.
 */
export async function findLeadership(
  api: Pick<KubeApi, "get">,
  flags: Flags,
  lease: Lease | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (lease === undefined || holderOf(lease) === "") return undefined;
  const duration = seconds(Math.max(1, lease.spec?.leaseDurationSeconds ?? 15));
  const end = clock.monotonic() + duration;
  while (clock.monotonic() < end) {
    await sleep(clock, milliseconds(Math.min(checkInterval, end - clock.monotonic())), signal);
    const leader = newLeader(lease, await readLease(api, flags, signal));
    if (leader !== undefined) return leader;
  }
  return undefined;
}

/** The accepted difference between the clocks of two machines. */
const clockSkew = minutes(1);

function agedFact(lease: Lease, now: number): LeaseFact {
  const { renewTime = "", leaseDurationSeconds = 0 } = lease.spec ?? {};
  const age = now - Date.parse(renewTime);
  const isExpired = age > leaseDurationSeconds * 1000 + clockSkew;
  return { ...leaseFact(lease), isExpired, age: milliseconds(Math.round(age / 1000) * 1000) };
}

/** The Lease that these flags name, and the Leases of other cloud controller managers. `now` is the wall clock. */
export async function readLeases(
  api: Pick<KubeApi, "listPage">,
  flags: Flags,
  now: number,
  signal: AbortSignal,
): Promise<{ readonly own: LeaseFact | undefined; readonly others: readonly LeaseFact[] }> {
  const { namespace, name } = leaseOf(flags);
  const all = (await listAll(api, leases, signal, namespace)).map((lease) => agedFact(lease, now));
  const own = all.find((one) => one.name === name);
  const isManager = ({ holder, isExpired, program = "" }: LeaseFact): boolean =>
    holder !== "" &&
    !isObserver(holder) &&
    isExpired !== true &&
    program.includes("cloud-controller-manager");
  return { own, others: all.filter((one) => one !== own && isManager(one)) };
}

/** The leader, as far as the credentials can read it. */
export interface Leaders {
  /** Undefined if the Lease cannot be read, or if managers with these flags use none. */
  readonly own?: LeaseLeader & Pick<LeaseFact, "renewTime">;
  readonly several?: LeaderProblem;
}

export async function findLeaders(
  api: Pick<KubeApi, "listPage" | "get">,
  { settings: { flags }, program, platform, signal }: Operator,
): Promise<Leaders> {
  const now = platform.clock.now();
  const unlessRefused = (error: unknown): undefined => {
    signal.throwIfAborted();
    if (!isKubeError(error)) throw error;
  };
  /** A user often has permission to read one Lease but not to list all. */
  const readOwn = async () => {
    const lease = await readLease(api, flags, signal);
    return { own: lease && agedFact(lease, now), others: [] };
  };
  const found =
    (await readLeases(api, flags, now, signal).catch(unlessRefused)) ??
    (await readOwn().catch(unlessRefused));
  if (found === undefined) return {};
  const judged = judgeLease(found.own, { flags, program });
  const leading = judged.kind === "none" ? [] : [found.own ?? []].flat();
  return defined({
    own: flags["leader-elect"] ? { ...judged, renewTime: found.own?.renewTime } : undefined,
    several: judgeSeveral([...leading, ...found.others], flags),
  });
}
