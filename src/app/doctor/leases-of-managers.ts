// The Leases that cloud controller managers renew, with their holders: more than one holder means that two managers work at once.

import { minutes } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import { leases } from "../../kube/resources.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { ManagerLease } from "./doctor-facts.ts";
import { writerOf } from "./raw-objects.ts";

/** Those that were renewed in the last minute. `now` is the time of the API server. */
export async function leasesOfManagers(
  api: Pick<KubeApi, "listPage">,
  flags: Flags,
  now: number,
  signal: AbortSignal,
): Promise<readonly ManagerLease[]> {
  const all = await listAll(api, leases, signal, flags["leader-elect-resource-namespace"]);
  return all
    .map((lease) => ({
      name: lease.metadata.name,
      holder: holderOf(lease),
      program: writerOf(lease, "renewTime") ?? "",
      age: now - Date.parse(lease.spec?.renewTime ?? ""),
    }))
    .filter(
      ({ name, holder, program, age }) =>
        holder !== "" &&
        age < minutes(1) &&
        (name === flags["leader-elect-resource-name"] || program.includes("cloud-controller-manager")),
    );
}

/** Undefined if at most one manager leads, or if the Leases may not be read. During a leader migration, one manager holds two. */
export async function severalLeadersText(
  api: Pick<KubeApi, "listPage">,
  flags: Flags,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const found = await leasesOfManagers(api, flags, now, signal);
    if (new Set(found.map(({ holder }) => holder)).size < 2) return undefined;
    const holders = found.map(
      ({ name, holder, program }) =>
        `${holder}${program === "" ? "" : ` (${program})`} holds the Lease ${flags["leader-elect-resource-namespace"]}/${name}`,
    );
    return `Several managers lead at the same time: ${holders.join("; ")}. All of them change the same Nodes, load balancers and routes. Stop all but one, or give them the same --leader-elect-resource-name. For managers of different Nodes, set --node-selector.`;
  } catch (error) {
    signal.throwIfAborted();
    if (!isKubeError(error)) throw error;
    return undefined;
  }
}
