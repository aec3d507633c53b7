// The output of `cleanup`: leftovers, retained objects with the reason, and deleted objects. Pure.

import { countOf } from "../../core/text.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { Removal } from "./delete-leftovers.ts";
import { type Leftover, uidStartOf } from "./leftovers.ts";
import type { CleanupSurvey } from "./survey.ts";

export const isDeletable = ({ kept }: Leftover): boolean => kept === undefined;

const nameOf = ({ what, name, place }: Leftover): string =>
  `${what} ${name}${place === undefined ? "" : ` in ${place}`}`;

function ownerText({ what, owners, kept }: Leftover, cluster: ClusterState): string {
  const start = uidStartOf(owners);
  const known = start === undefined ? owners.join(", ") : `${start}… (its name lacks the last digit)`;
  const names = owners.length === 0 ? "unknown" : known;
  if (what === "route") return `    target:  ${names}`;
  if (kept?.kind === "in use") return `    owner:   ${names}`;
  const state = cluster.kind === "read" ? "no such Service exists" : "whether it exists is not known";
  return `    owner:   ${names} (${state})`;
}

function leftoverLines(leftover: Leftover, cluster: ClusterState): readonly string[] {
  const { what, addresses } = leftover;
  const shown = addresses.length === 0 ? "none, or not known" : addresses.join(", ");
  const address = what === "route" ? [] : [`    address: ${shown}`];
  return [`  ${nameOf(leftover)}`, ownerText(leftover, cluster), ...address];
}

/** Formats counts: "1 load balancer and 2 routes". */
export function countText(leftovers: readonly Leftover[]): string {
  const texts = (["load balancer", "route"] as const).flatMap((kind) => {
    const count = leftovers.filter(({ what }) => what === kind).length;
    return count === 0 ? [] : countOf(count, kind);
  });
  return texts.length === 0 ? "nothing" : texts.join(" and ");
}

/** Unselected objects remain. */
function leftText(found: readonly Leftover[], unselected: readonly Leftover[]): string {
  if (unselected.length === 0) return countText(found);
  const rest = `${countText(unselected)} that no flag selects`;
  return found.length === 0 ? rest : `${countText(found)}, and ${rest}`;
}

function sourceText(cluster: ClusterState): string {
  return cluster.kind === "read"
    ? `Compared with the API server at ${cluster.origin} (cluster uid ${cluster.uid ?? "unknown, because the namespace kube-system cannot be read"}): ${cluster.services.length} Services and ${cluster.nodes.length} Nodes exist.`
    : `No API server answered, so existing Services and Nodes are not known: ${cluster.why}`;
}

/** `noRoutes`: why routes are not listed; undefined if they are. */
export function surveyText(survey: CleanupSurvey, clusterName: string, noRoutes: string | undefined): string {
  const { leftovers, cluster, problems, others } = survey;
  const found = leftovers.filter(isDeletable);
  const kept = leftovers.filter((leftover) => !isDeletable(leftover));
  const unselected = kept.filter((leftover) => leftover.kept?.kind === "unselected");
  const inUse = kept.filter((leftover) => leftover.kept?.kind === "in use");
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ["", title, "", ...lines];
  return [
    sourceText(cluster),
    ...section(
      `Left by the cluster ${clusterName}:`,
      found.flatMap((leftover) => leftoverLines(leftover, cluster)),
    ),
    ...section(
      "These stay:",
      kept.flatMap((leftover) => [...leftoverLines(leftover, cluster), `    stays:   ${leftover.kept?.why}`]),
    ),
    ...section(
      "Not known:",
      [...problems, ...(noRoutes === undefined ? [] : [noRoutes])].map((text) => `  ${text}`),
    ),
    "",
    `Left: ${leftText(found, unselected)}${problems.length === 0 ? "" : ", and what could not be listed"}. ${inUse.length} in use and ${others + kept.length - unselected.length - inUse.length} without the mark of this cluster stay.`,
    "",
  ].join("\n");
}

export function removalText(confirmed: readonly Leftover[], { failed, problems }: Removal): string {
  const names = new Set(failed.map(({ leftover }) => leftover.key));
  const deleted = confirmed.filter(({ key }) => !names.has(key));
  // While a listing fails, it is unknown whether its objects are gone.
  const summary =
    problems.length === 0
      ? `Deleted ${countText(deleted)}.`
      : `Not everything could be listed, so some deletions are unconfirmed. Run cleanup again.`;
  return [
    summary,
    ...failed.map(({ leftover, why }) => `Not deleted: ${nameOf(leftover)}: ${why}`),
    ...problems,
    ...(failed.length === 0 ? [] : ["Correct the cause, and run cleanup again, or delete it in the cloud."]),
    "",
  ].join("\n");
}

/** The result as data for scripts. */
export function surveyData({ leftovers, cluster, problems, others }: CleanupSurvey) {
  return {
    apiServer:
      cluster.kind === "read"
        ? { url: cluster.origin, clusterUID: cluster.uid }
        : { unreachable: cluster.why },
    leftovers: leftovers.map(({ what, name, place, owners, addresses, kept }) => ({
      kind: what,
      name,
      place,
      owners,
      addresses,
      stays: kept?.why,
    })),
    others,
    problems,
  };
}
