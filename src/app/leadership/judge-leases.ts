// Determines from Leases which program leads, or why no manager leads, and what to do. The manager's pages,
// `explain` and `doctor` show this value. Pure.

import { clusterNameAnnotation } from "../../controllers/well-known.ts";
import type { Milliseconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { formatDuration } from "../../core/duration.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import type { KubeObject, Lease } from "../../kube/objects.ts";
import { servesOnlyClasses } from "../flags/controller-settings.ts";
import type { Flags } from "../flags/flag-table.ts";
import { leaseOf } from "../permissions.ts";
import { isObserver } from "./replica-identity.ts";

/** The facts about a Lease that its reader knows. */
export interface LeaseFact {
  readonly name: string;
  /** The holder; empty if there is none. */
  readonly holder: string;
  /** The program that wrote the Lease last; undefined if the API server does not report it. */
  readonly program: string | undefined;
  /** The --cluster-name of the Fairlead manager that held the Lease last. */
  readonly clusterName?: string | undefined;
  /** When the holder acquired the Lease, and when it last renewed it (RFC 3339). */
  readonly acquireTime?: string | undefined;
  readonly renewTime?: string | undefined;
  readonly isExpired?: boolean;
  /** Time since the renewal, by this machine's clock; undefined if the clocks were not compared. */
  readonly age?: Milliseconds;
}

const leaseProblem = (
  reason: string,
  text: string,
  more: { readonly effect: string; readonly remedy: string },
) => ({ severity: "error", reason, text, ...more }) as const;

/** The absence of a leader, a leader of another program, or several leaders. */
export type LeaderProblem = ReturnType<typeof leaseProblem>;

/** The flags and the name of the program that evaluates the Leases. */
export interface Asker {
  readonly flags: Flags;
  readonly program: string;
}

/** The program that leads with a Lease: the caller's program, another program, or none. */
export interface LeaseLeader {
  readonly kind: "leads" | "other" | "none";
  readonly holder: string;
  /** Unset when the leader runs this program. */
  readonly found?: LeaderProblem;
  /** The --cluster-name of the leader, if a manager of the program leads. */
  readonly clusterName?: string;
}

const nameOf = (name: string, flags: Flags): string => `${leaseOf(flags).namespace}/${name}`;
const start = "If no manager runs, start one.";

/** Kubernetes components use identities of the form HOST_UUID. */
function hostOf(holder: string): string {
  const [host = ""] = holder.split("_");
  return host === holder ? "" : ` on the host or pod ${host}`;
}

/** `lease` is undefined if the Lease does not exist. */
export function judgeLease(lease: LeaseFact | undefined, { flags, program }: Asker): LeaseLeader {
  const { holder = "", name: bare = leaseOf(flags).name, renewTime = "an unknown time" } = lease ?? {};
  const name = nameOf(bare, flags);
  const none = (reason: string, text: string, remedy: string): LeaseLeader => {
    const effect = "Nothing is changed in the cloud or the cluster until a manager leads.";
    return {
      kind: "none",
      holder,
      found: leaseProblem(reason, `No manager leads: ${text}`, { effect, remedy }),
    };
  };
  if (lease === undefined || holder === "")
    return none(
      "NoLeader",
      `the Lease ${name} ${lease === undefined ? "does not exist" : "has no holder"}.`,
      `If a manager runs, its log says why it does not lead: it does not reach the API server, cannot log in there (an expired certificate or token), lacks a permission, or has a different --leader-elect-resource-name than ${name}. ${start}`,
    );
  if (lease.isExpired === true) {
    const ago =
      lease.age === undefined ? "" : ` ${formatDuration(lease.age)} ago by the clock of this machine,`;
    return none(
      "LeaseExpired",
      `the Lease ${name} of ${holder} was last renewed at ${renewTime},${ago} and not within its duration.`,
      `If a manager runs, its log says why it cannot renew the Lease: it does not reach the API server, cannot log in there (an expired certificate or token), or lacks a permission. ${start}`,
    );
  }
  if (isObserver(holder))
    return none(
      "ObserverHoldsLease",
      `${holder} holds the Lease ${name} with --mode=observe, so it changes nothing, and keeps others from leading.`,
      "Restart it without --mode=observe, or without --leader-elect.",
    );
  if (lease.program === undefined) return { kind: "leads", holder };
  if (lease.program === program)
    return { kind: "leads", holder, ...defined({ clusterName: lease.clusterName }) };
  const text = `${holder} leads: it holds the Lease ${name}, and the program that renews it is ${lease.program}, not ${program}.`;
  const found = leaseProblem("OtherManagerLeads", text, {
    effect: "Nodes and Services wait for that program, and Fairlead changes nothing while it runs.",
    remedy: `To switch to Fairlead, stop that program${hostOf(holder)}, as "Switching from the Go manager" in docs/operations.md describes; Fairlead leads some 15 seconds later. To keep it, remove Fairlead ("Removing Fairlead").`,
  });
  return { kind: "other", holder, found };
}

/** The effect of managers with different Leases, and the remedy. */
export const severalTexts = {
  effect:
    "Both change the same Nodes, load balancers and routes, undo the changes of each other, and may create a load balancer twice.",
  remedy:
    "Stop all but one (each runs on the host or pod that its name begins with), or give them the same --leader-elect-resource-name; then look for the reason DuplicateLoadBalancer in what explain shows. For managers of different Nodes, set --node-selector in each, and --controllers=*,-service,-node-route in all but one. For a manager of some Services, set --controllers=service, --load-balancer-class and --load-balancer-class-only.",
} as const;

/** Reports that managers with different Leases lead at the same time. During a leader migration, one manager holds two Leases. */
export function judgeSeveral(leading: readonly LeaseFact[], flags: Flags): LeaderProblem | undefined {
  if (new Set(leading.map(({ holder }) => holder)).size < 2 || servesOnlyClasses(flags)) return undefined;
  const holders = leading.map(
    ({ name, holder, program, acquireTime }) =>
      `${holder}${program === undefined ? "" : ` (${program})`} holds the Lease ${nameOf(name, flags)}${acquireTime === undefined ? "" : ` since ${acquireTime}`}`,
  );
  const text = `Several managers lead at the same time, each with its own Lease: ${holders.join("; ")}.`;
  return leaseProblem("TwoManagersLead", text, severalTexts);
}

/** Another manager renews a Lease that a manager with --leader-elect=false does not use. */
export const besideLeader = (holder: string, flags: Flags): LeaderProblem =>
  leaseProblem(
    "TwoManagersLead",
    `${holder} renews the Lease ${nameOf(leaseOf(flags).name, flags)}, and a manager with --leader-elect=false does not wait for it.`,
    {
      effect: severalTexts.effect,
      remedy: "Remove --leader-elect=false, so that only one manager leads, or stop the other manager.",
    },
  );

interface ManagedFields {
  readonly manager?: string;
  readonly time?: string;
  readonly fieldsV1?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The program that last wrote a field of the spec. */
export function leaseWriterOf(object: KubeObject, field: string): string | undefined {
  const { managedFields = [] } = object.metadata as { readonly managedFields?: readonly ManagedFields[] };
  return managedFields
    .filter(({ fieldsV1 }) => fieldsV1?.["f:spec"]?.[`f:${field}`] !== undefined)
    .toSorted((a, b) => ((a.time ?? "") < (b.time ?? "") ? -1 : 1))
    .at(-1)?.manager;
}

export const leaseFact = (lease: Lease): LeaseFact => ({
  name: lease.metadata.name,
  holder: holderOf(lease),
  program: leaseWriterOf(lease, "renewTime"),
  clusterName: lease.metadata.annotations?.[clusterNameAnnotation],
  acquireTime: lease.spec?.acquireTime,
  renewTime: lease.spec?.renewTime,
});
