// Whether a manager leads, as its Lease says. Times of different machines are not compared, so the reader sees the last renewal.

import type { KubeApi } from "../../kube/client/api.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import { leases } from "../../kube/resources.ts";
import type { Flags } from "../flags/table.ts";

/** Undefined if managers with these flags use no Lease, or if it may not be read. */
export async function leadershipText(
  api: Pick<KubeApi, "get">,
  flags: Flags,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!flags["leader-elect"]) return undefined;
  const namespace = flags["leader-elect-resource-namespace"];
  const name = flags["leader-elect-resource-name"];
  const none = (why: string): string =>
    `No manager leads: the Lease ${namespace}/${name} ${why}. Nothing is changed until a manager runs.`;
  try {
    const lease = await api.get(leases, { namespace, name }, signal);
    const holder = holderOf(lease);
    if (holder === "") return none("has no holder");
    return `The leader is ${holder}, which renewed its Lease at ${lease.spec?.renewTime ?? "an unknown time"}.`;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    if (error.kind === "not-found") return none("does not exist");
    if (error.kind === "forbidden") return undefined;
    throw error;
  }
}
