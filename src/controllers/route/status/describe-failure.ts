// What is said about routes that could not be made or removed. Pure; the first is upstream's message, word for word.

import { isAccountWide } from "../../../cloud/error-policies.ts";
import type { Milliseconds } from "../../../core/brand.ts";
import { messageOf } from "../../../core/errors.ts";
import type { Problem } from "../../../core/problem.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import type { NodeEvent } from "../../node-deps.ts";
import type { RouteChange } from "../reconcile/route-change.ts";

export function describeFailedCreate(
  { destination, target }: DesiredRoute,
  took: Milliseconds,
  error: unknown,
): NodeEvent {
  return {
    type: "Warning",
    reason: "FailedToCreateRoute",
    message: `Could not create route ${target.uid} ${destination} for node ${target.node} after ${asGoPrints(took)}: ${messageOf(error)}`,
    ...(isAccountWide(error) && { quiet: true }),
  };
}

export function describeFailedRemoval({ destination, handle }: ObservedRoute, error: unknown): Problem {
  return {
    severity: "warning",
    reason: "FailedToRemoveRoute",
    text: `Could not remove route ${destination} (${handle}), which no node asks for: ${messageOf(error)}`,
  };
}

export function describeFailedListing(error: unknown): Problem {
  return {
    severity: "error",
    reason: "RoutesUnknown",
    text: `The cloud's routes could not be listed, so none is made or removed: ${messageOf(error)}`,
  };
}

/** Of whatever ends a pass that is no answer of the cloud: those are told route by route. */
export function describeFailedPass(error: unknown): Problem {
  return {
    severity: "error",
    reason: "RoutesUnfinished",
    text: `The cloud's routes were listed, but making and removing them broke off, and is tried again: ${messageOf(error)}`,
  };
}

/** Of a change that the cloud is at. */
export function describeUnknown(change: RouteChange, error: unknown): Problem {
  return {
    severity: "warning",
    reason: "RouteUnknown",
    text: `What has become of route ${change.route.destination}, which the cloud was told to ${change.do}, cannot be asked, and is asked again: ${messageOf(error)}`,
  };
}

export function describeMissingMachine(name: string): NodeEvent {
  return {
    type: "Warning",
    reason: "RouteWaitsForMachine",
    message: `The cloud shows no machine for node ${name}, so its pod ranges get no route yet. It is looked for again; if it stays so, compare the node's name and provider id with the cloud's.`,
  };
}

/** `1.5s`, `200ms`, `1m2.5s`: Go's own spelling, for whoever reads these messages by machine. */
export function asGoPrints(duration: Milliseconds): string {
  const whole = Math.max(0, Math.round(duration));
  if (whole === 0) return "0s";
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const rest = `${(whole % 60_000) / 1000}s`;
  if (minutes === 0) return rest;
  return minutes < 60 ? `${minutes}m${rest}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${rest}`;
}
