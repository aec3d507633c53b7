// The Leases that cloud controller managers renew, with their holders: more than one holder means that two managers work at once.

import { minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
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

/** Which programs lead, as far as a reader must know. */
export interface Leaders {
  /** That several managers lead. During a leader migration, one manager holds two Leases. */
  readonly severalLeaders?: string;
  /** The holder of the Lease of these flags, if it is another program, and what that means. */
  readonly otherLeader?: { readonly holder: string; readonly text: string };
}

/** What both of two leaders do. */
export const effectOfTwoLeaders =
  "Both change the same Nodes, load balancers and routes, undo the changes of each other, and may create a load balancer twice.";

/** Empty if one manager leads, or if the Leases may not be read. */
export async function leadersOf(
  api: Pick<KubeApi, "listPage">,
  { flags, program }: { readonly flags: Flags; readonly program: string },
  now: number,
  signal: AbortSignal,
): Promise<Leaders> {
  const nameOf = (name: string): string => `${flags["leader-elect-resource-namespace"]}/${name}`;
  try {
    const found = await leasesOfManagers(api, flags, now, signal);
    const own = found.find(({ name }) => name === flags["leader-elect-resource-name"]);
    const isOther = own !== undefined && own.program !== "" && own.program !== program;
    const otherLeader = isOther
      ? {
          holder: own.holder,
          text: `${own.holder} leads: it holds the Lease ${nameOf(own.name)}, and the program that renews it is ${own.program}, not ${program}. Nodes and Services wait for that program, and Fairlead changes nothing while it runs. To switch to Fairlead, stop it; docs/operations.md describes it.`,
        }
      : undefined;
    if (new Set(found.map(({ holder }) => holder)).size < 2) return defined({ otherLeader });
    const holders = found.map(
      ({ name, holder, program: writer }) =>
        `${holder}${writer === "" ? "" : ` (${writer})`} holds the Lease ${nameOf(name)}`,
    );
    const severalLeaders = `Several managers lead at the same time, each with its own Lease: ${holders.join("; ")}. ${effectOfTwoLeaders} Stop all but one, or give them the same --leader-elect-resource-name. For managers of different Nodes, set --node-selector.`;
    return defined({ otherLeader, severalLeaders });
  } catch (error) {
    signal.throwIfAborted();
    if (!isKubeError(error)) throw error;
    return {};
  }
}
