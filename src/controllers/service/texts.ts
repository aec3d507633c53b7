// The reasons and messages of the events, holds and log lines about Services. Messages that upstream also has are verbatim.
// Other files contain the texts of the problems that they find, such as `state/refused-targets.ts`. Pure.

import { isAccountWide } from "../../cloud/error-policies.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { formatDuration } from "../../core/duration.ts";
import type { Problem } from "../../core/problem.ts";
import { commandText, shortList } from "../../core/text.ts";
import { type Service, toTime } from "../../kube/objects.ts";
import type { Step } from "../../provider/plan.ts";
import { describeFailure, problemOfError } from "../classify-error.ts";
import { type Held, whyHeld } from "../kernel/doubt.ts";
import { removalWindowText } from "../kernel/removal-kinds.ts";
import { pausedAnnotation } from "../well-known.ts";
import type { ChangeKind, Hold } from "./state/record-parts.ts";

const of =
  (severity: Problem["severity"]) =>
  (reason: string, text: string, remedy?: string): Problem =>
    defined({ severity, reason, text, remedy });
const notice = of("notice");
const failure = of("error");
const warning = of("warning");

/** Undefined for updates, because upstream only reports their completion. */
export function changeStarted(change: ChangeKind | "release" | "leave"): Problem | undefined {
  switch (change) {
    case "ensure":
      return { ...notice("EnsuringLoadBalancer", "Ensuring load balancer"), isQuiet: true };
    case "update":
      return undefined;
    case "delete":
      return { ...notice("DeletingLoadBalancer", "Deleting load balancer"), isQuiet: true };
    case "leave":
      return { ...notice("DeletingLoadBalancer", "Leaving load balancer"), isQuiet: true };
    case "release":
      return { ...notice("ReleasingLoadBalancer", "Releasing load balancer"), isQuiet: true };
  }
}

export function changeCompleted(change: ChangeKind): Problem {
  switch (change) {
    case "ensure":
      return notice("EnsuredLoadBalancer", "Ensured load balancer");
    case "update":
      return notice("UpdatedLoadBalancer", "Updated load balancer with new hosts");
    case "delete":
      return notice("DeletedLoadBalancer", "Deleted load balancer");
  }
}

/** Upstream has no shared load balancers, and so no such text. */
export const left = (names: readonly string[]): Problem =>
  notice("DeletedLoadBalancer", `Left load balancer ${names.join(", ")}: other Services still use it`);

/** Upstream has no such event. It names the load balancer so that it can be found later. */
export function released(names: readonly string[]): Problem {
  const balancer = ["load balancer", names.join(", ")].join(" ").trim();
  return notice(
    "ReleasedLoadBalancer",
    `Released ${balancer}: it stays in the cloud, where it may cost money, and Fairlead no longer manages it.`,
    `Delete it there if it is not needed.`,
  );
}

const list = (addresses: readonly string[]): string => shortList(addresses, 200);

/** The Service has none of its former addresses. Upstream makes this change without an event. */
export function addressChanged(before: readonly string[], after: readonly string[]): Problem {
  return warning(
    "AddressChanged",
    `${addressChange(before, after)}. Clients and DNS records with the former address no longer reach the Service; update them.`,
  );
}

/** This text is also the reason of the write. */
export const addressChange = (before: readonly string[], after: readonly string[]): string =>
  `Address changed from ${list(before)} to ${list(after)}`;

/** For the log, when the Service no longer exists. */
export const deletedWithoutService = "Deleted load balancer: its Service is gone";

/** After these times, the event of a long wait is published again. */
const progressTimes = [seconds(10), minutes(1), minutes(5), minutes(15), minutes(60)];

/** `waited`: how long the load balancer has waited for the cloud, including earlier waits. */
export function waitingFor(what: string, waited: Milliseconds = milliseconds(0)): Problem {
  const text = `Waiting for ${what}`;
  const passed = progressTimes.filter((time) => time <= waited).at(-1);
  const wait = { severity: "wait", reason: "WaitingForCloud" } as const;
  if (passed === undefined) return { ...wait, text };
  const since = formatDuration(milliseconds(Math.floor(waited / 1000) * 1000));
  return { ...wait, text: `${text}; waiting for ${since} so far`, identity: `${text} ${passed}` };
}

/** `sharers`: the other Services that have the load balancer. */
export function paused(sharers: readonly string[]): Problem {
  const scope =
    sharers.length === 0
      ? "neither the Service nor its load balancer is changed."
      : `neither the Service nor its part of the load balancer is changed. ${list(sharers)} may still change the other parts.`;
  return notice("Paused", `Paused by ${pausedAnnotation}: ${scope}`, "Remove the annotation to continue.");
}

export function deletionPaused({ metadata }: Service): Problem {
  const { namespace = "", name } = metadata;
  return failure(
    "DeletionPaused",
    `${namespace}/${name} is being deleted, but ${pausedAnnotation} pauses it: its load balancer and its finalizer stay.`,
    `To continue: ${commandText(`kubectl -n ${namespace} annotate service ${name} ${pausedAnnotation}-`)}`,
  );
}

/** The cloud may be late to list a load balancer that was just created. */
export function waitingForListing(decidedAt: number, isEnding: boolean): Problem {
  const what = isEnding ? "proof that the load balancer is gone" : "the cloud to list the load balancer";
  return waitingFor(
    `${what}. If a listing at ${toTime(decidedAt)} or later lacks it too, it counts as absent`,
  );
}

export type OutcomeOfAbsence = keyof typeof outcomesOfAbsence;

const outcomesOfAbsence = {
  "finalizer removed": "the finalizer of the Service is removed",
  "created again": "a new one is created",
  held: "nothing follows from that as long as so many others are absent too",
  reported:
    "it counts as drift: because --load-balancer-drift is report, only a change of the Service's spec or settings creates a new one",
} as const;

export interface MissingBalancer {
  /** Its name in the cloud; undefined if this process has not seen it. */
  readonly name: string | undefined;
  /** The addresses of the Service. */
  readonly addresses: readonly string[];
  /** Another load balancer with the same mark. */
  readonly replacement?: string | undefined;
}

/** The load balancer may be absent, because one listing lacks it. */
export function balancerMissing(
  decidedAt: number,
  ifAbsent: OutcomeOfAbsence,
  { name, addresses, replacement }: MissingBalancer,
): Problem {
  const balancer = name === undefined ? "the load balancer" : `load balancer ${name}`;
  const isReplaced = replacement !== undefined;
  const outcome = isReplaced
    ? `load balancer ${replacement} with the same mark replaces it`
    : outcomesOfAbsence[ifAbsent];
  const isMoved = addresses.length > 0 && (isReplaced || ifAbsent === "created again");
  const loss = isMoved
    ? ` The address of the Service then changes (now ${list(addresses)}), unless the cloud assigns the same one again.`
    : "";
  return failure(
    "LoadBalancerMissing",
    `The cloud no longer lists ${balancer} of this Service: it was probably deleted there. One listing is not proof, so nothing is changed yet. If a listing at ${toTime(decidedAt)} or later lacks it too, it no longer exists, and ${outcome}.${loss}`,
  );
}

/** Listings show none of the created load balancers. The names are those in the cloud, as far as the steps contain them. */
export function createdButNotListed({
  count,
  names,
}: {
  readonly count: number;
  readonly names: readonly string[];
}): Problem {
  const made = names.length === 0 ? "" : ` (${shortList(names)})`;
  return {
    severity: "error",
    reason: "CreatedButNotListed",
    text: `Fairlead sent ${count} requests to create the load balancer of this Service${made}, and no listing shows one, so none is created until a listing does.`,
    remedy: `Check which load balancers exist in the cloud, and that the credentials, project, region and filter of the cloud configuration show them to Fairlead; delete the load balancers that are not needed. Any change of the Service's spec or settings creates one more.`,
  };
}

/** More load balancers are absent than the mass limit allows. The log has the counts, because they change. */
export function massRecreationHeld({ howToRelease, ...hold }: Held, isFailed = false): Problem {
  const why = isFailed
    ? `cannot be repaired${withOthers(hold, ", and the cloud lacks")}, so it is not replaced until the cloud lists them.`
    : `is absent${withOthers(hold)}, so none is created again until the cloud lists them.`;
  return failure(
    "MassRecreationHeld",
    `The load balancer of this Service ${why}`,
    `To create all of them: ${howToRelease}`,
  );
}

/** The Service no longer needs a load balancer. */
export function massReleaseHeld({ howToRelease, ...hold }: Held): Problem {
  return failure(
    "MassRemovalHeld",
    `The load balancer of this Service is absent${withOthers(hold)}, so the Service keeps its finalizer until the cloud lists them.`,
    `To remove the finalizers of all these Services: ${howToRelease}`,
  );
}

/** For reports, because the Service no longer exists. */
export function massWaitHeld(service: string, { howToRelease, ...hold }: Held): Problem {
  return failure(
    "MassRemovalHeld",
    `The load balancer of the deleted Service ${service} is absent${withOthers(hold)}, so Fairlead waits for it to be listed again, and deletes it then.`,
    `To stop waiting: ${howToRelease}`,
  );
}

/** For reports, because the Service no longer exists. */
export function massRemovalHeld(service: string, { howToRelease, ...hold }: Held): Hold {
  return {
    severity: "hold",
    reason: "MassRemovalHeld",
    text: `${service} vanished from the API${withOthers(hold, " together with")}, so no load balancer of such a Service is removed.`,
    remedy: `To remove all of them: ${howToRelease}`,
    isReleasable: true,
  };
}

export function serviceVanished(service: string): Hold {
  return {
    severity: "hold",
    reason: "ServiceVanished",
    text: `${service} vanished from the API without a deletion that Fairlead saw. The load balancer is kept for now, because the API server may show the Service again.`,
  };
}

function withOthers(held: Pick<Held, "allowed" | "account">, together = ", and so are"): string {
  const many = `${together} too many others: more than ${held.allowed} within ${removalWindowText} is treated as a fault of the cloud or the API server`;
  return held.account === undefined ? many : whyHeld(held, "");
}

export const massHoldEnded = "The mass limit no longer holds load balancers";

/** Describes a hold for the log. */
export function describeMassHold(held: Held): string {
  const { absent, vanished, recent, total, howToRelease } = held;
  return (
    `Of ${total} load balancers, ${absent} are absent from the cloud, ${vanished} Services vanished from the API, and ${recent} ` +
    `were removed or created again for such a reason in the last ${removalWindowText}${whyHeld(held, "a fault")}, ` +
    `so none of them is created again or removed. To do so anyway: ${howToRelease}`
  );
}

/** `isLost`: the load balancer no longer exists. */
export function driftRepaired(steps: readonly Step[], isLost: boolean): Problem {
  const what = isLost
    ? "The load balancer no longer exists in the cloud, and Fairlead has not deleted it. Creating a new one"
    : "The load balancer was changed outside Fairlead. Repairing it";
  return warning("LoadBalancerDrift", `${what}: ${describeSteps(steps)}`);
}

/** States the action, and what the user can do. */
export function driftWithheld(
  steps: readonly Step[],
  { canChangeTargets, isLost }: { readonly canChangeTargets: boolean; readonly isLost: boolean },
): Problem {
  const targets = canChangeTargets
    ? ""
    : " Targets are not changed either, because this cloud cannot change them independently.";
  const what = isLost
    ? "The load balancer no longer exists in the cloud. No new one is created"
    : "The load balancer differs from the Service. It is not repaired";
  const text = `${what}, because --load-balancer-drift is report: ${describeSteps(steps)}.${targets}`;
  const remedy = `Any change of the Service's spec or settings applies the whole Service.`;
  return warning("LoadBalancerDrift", text, remedy);
}

function describeSteps(steps: readonly Step[]): string {
  return steps.map(({ do: what, on }) => (on === undefined ? what : `${what} (${on})`)).join(", ");
}

export function syncFailed(error: unknown, { isEnding }: { readonly isEnding: boolean }): Problem {
  return isEnding
    ? failed("DeleteLoadBalancerFailed", "Error deleting load balancer:", error)
    : failed("SyncLoadBalancerFailed", "Error syncing load balancer:", error);
}

/** More names would make the event unreadable. */
const maxHostNames = 20;

/** Only the targets had changed. As in upstream, the retry is a full sync. */
export function updateFailed(hosts: readonly string[], error: unknown): Problem {
  const names = hosts.toSorted().slice(0, maxHostNames);
  const shown = hosts.length > maxHostNames ? [...names, `<${hosts.length - maxHostNames} more>`] : names;
  const what =
    `Error updating load balancer with new hosts [${shown.join(" ")}] ` +
    `[node names limited, total number of nodes: ${hosts.length}], error:`;
  return failed("UpdateLoadBalancerFailed", what, error);
}

/** An error that affects the whole account is logged once, not for each Service. */
function failed(reason: string, what: string, error: unknown): Problem {
  const { text, ...more } = describeFailure(error);
  const cause = problemOfError(error)?.reason;
  const problem = defined({ ...failure(reason, `${what} ${text}`), ...more, cause });
  return isAccountWide(error) ? { ...problem, isQuiet: true } : problem;
}
