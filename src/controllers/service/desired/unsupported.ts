// Reports what a Service requests and the cloud does not have, in one problem. The load balancer is made without it. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { ServiceFeature } from "../../../provider/load-balancers.ts";
import type { AnyBalancers, Desired } from "../deps.ts";

type Requested = Pick<Desired, "ports" | "sourceRanges" | "healthCheckNodePort" | "sessionAffinitySeconds">;

const everyone: readonly string[] = ["0.0.0.0/0", "::/0"];

/** What the Service requests, with what it means that the cloud does not have it. */
function requestsOf(
  { ports, sourceRanges, healthCheckNodePort, sessionAffinitySeconds }: Requested,
  choosesEndpoints: boolean,
): readonly (readonly [ServiceFeature, string])[] {
  const portsOf = (protocol: "UDP" | "SCTP") =>
    ports.flatMap((port) => (port.protocol === protocol ? [port.port] : [])).join(", ");
  const requests: [ServiceFeature, string][] = [];
  for (const protocol of ["UDP", "SCTP"] as const) {
    const numbers = portsOf(protocol);
    if (numbers !== "") requests.push([protocol, `${protocol} (port ${numbers} gets no traffic from it)`]);
  }
  if (sourceRanges?.some((range) => !everyone.includes(range)) === true) {
    requests.push(["sourceRanges", "source ranges (it forwards the traffic of every client)"]);
  }
  if (sessionAffinitySeconds !== undefined) {
    requests.push(["sessionAffinity", "sessionAffinity ClientIP (a client may reach several Nodes)"]);
  }
  // With endpoints as targets, no Node without one gets traffic.
  if (healthCheckNodePort !== undefined && !choosesEndpoints) {
    const effect = "Nodes without an endpoint get traffic, and drop it";
    requests.push(["healthCheckNodePort", `health checks for externalTrafficPolicy Local (${effect})`]);
  }
  return requests;
}

export function unsupportedRequests(
  desired: Requested,
  supports: AnyBalancers["supports"],
  choosesEndpoints: boolean,
): readonly Problem[] {
  const texts = requestsOf(desired, choosesEndpoints).flatMap(([feature, text]) =>
    supports?.includes(feature) === true ? [] : text,
  );
  if (texts.length === 0) return [];
  return [
    {
      severity: "warning",
      reason: "UnsupportedRequest",
      text: `The load balancers of this cloud do not support: ${texts.join("; ")}. Everything else of the Service is applied. Remove it from the Service, or ensure it in another way.`,
    },
  ];
}
