// Warnings about requests of a Service that have no effect, because another field or annotation takes precedence, or
// the cloud does not support them. The load balancer is created without them. Pure.

import type { IpAddress } from "../../../core/brand.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Field, Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { DesiredLoadBalancer, ServiceFeature } from "../../../provider/load-balancers.ts";
import type { FactPlace } from "../../../provider/plan.ts";
import { ownPrefix } from "../../well-known.ts";
import { type AnnotationTable, annotationKey, type OwnSettings } from "./annotations.ts";
import { sourceRangesAnnotation } from "./source-ranges.ts";

export function ignoredAnnotations(
  { metadata, spec }: Service,
  { values }: Pick<OwnSettings, "values">,
): readonly Problem[] {
  const problems: Problem[] = [];
  const ignore = (key: string, why: string): void => {
    problems.push({
      severity: "warning",
      reason: "AnnotationIgnored",
      key,
      text: `${key} has no effect, because ${why}`,
    });
  };
  const policy = values["target-policy"];
  const policyKey = `${ownPrefix}target-policy`;
  const selectorKey = `${ownPrefix}target-selector`;
  if (policy !== undefined && policy !== "selector" && values["target-selector"] !== undefined) {
    ignore(
      selectorKey,
      `${policyKey} is ${JSON.stringify(policy)}. Set it to "selector", or remove one of them.`,
    );
  }
  const limitKey = `${ownPrefix}target-limit`;
  if (policy === "subset" && values["target-limit"] === undefined) {
    ignore(policyKey, `${limitKey} is not set, so every Node is a target. Set it, or remove the policy.`);
  }
  const annotated = (metadata.annotations?.[sourceRangesAnnotation] ?? "")
    .split(",")
    .map((part) => part.trim());
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const isSame = annotated.toSorted().join() === ranges.toSorted().join();
  if (annotated.join() !== "" && ranges.length > 0 && !isSame) {
    ignore(
      sourceRangesAnnotation,
      "spec.loadBalancerSourceRanges takes precedence. Remove the annotation, or move its ranges there.",
    );
  }
  return problems;
}

/**
 * Annotations that their fields declare to have no effect in combination with the others. An unknown value counts as
 * one with an effect, because it comes from the operator, or from a load balancer that does not exist yet.
 */
export function ineffectiveAnnotations(
  { fields, prefix }: AnnotationTable<Fields>,
  written: ReadonlySet<string>,
  settings: Values<Fields>,
): readonly Problem[] {
  const shown = (name: string) =>
    `${annotationKey(name, prefix)} is ${textOf(settings[name]).slice(0, 80)}${written.has(name) || settings[name] === undefined ? "" : " by default"}`;
  return [...written].flatMap((name): readonly Problem[] => {
    const { ineffective, onlyWith = {}, overriddenBy, fallback, text } = fields[name] as Field<unknown>;
    if (textOf(settings[name]) === textOf(fallback)) return [];
    const key = annotationKey(name, prefix);
    const because = (why: string): readonly Problem[] => [
      { severity: "warning", reason: "AnnotationIgnored", key, text: `${key} has no effect${why}` },
    ];
    if (ineffective === true) return because(`. ${text} Remove it.`);
    if (overriddenBy !== undefined && settings[overriddenBy] !== undefined)
      return because(`, because ${shown(overriddenBy)} and takes precedence. Remove one of them.`);
    const lacking = Object.entries(onlyWith).find(([other, accepted]) => {
      const value = settings[other];
      if (value === undefined) return fields[other]?.defaultFrom === undefined;
      return accepted.length > 0 && !accepted.includes(value);
    });
    if (lacking === undefined) return [];
    const [other, accepted] = lacking;
    const to = accepted.length === 0 ? "" : ` to ${accepted.join(" or ")}`;
    const recreated = fields[other]?.whenChanged === undefined ? "" : " and recreate the Service";
    return because(`, because ${shown(other)}. Set that${to}${recreated}, or remove the annotation.`);
  });
}

const textOf = (value: unknown): string => (value === undefined ? "not set" : String(value));

/** Whether the cloud can assign `spec.loadBalancerIP`. True if the field stores a fact of the provider. */
export const honorsAddress = (
  facts: Readonly<Record<string, FactPlace>>,
  supports: readonly ServiceFeature[] | undefined,
): boolean =>
  supports?.includes("requestedAddress") === true || Object.values(facts).some((place) => "spec" in place);

/** The requested address, on a cloud that cannot assign it. */
export function ignoredAddress(requested: IpAddress | undefined, { status }: Service): readonly Problem[] {
  if (requested === undefined) return [];
  const current = (status.loadBalancer?.ingress ?? []).map(({ ip = "" }) => parseIp(ip, "sloppy"));
  if (current.includes(requested)) return [];
  return [
    {
      severity: "warning",
      reason: "AddressIgnored",
      key: "spec.loadBalancerIP",
      text: `spec.loadBalancerIP ${requested} has no effect: this cloud cannot assign a requested address, so it chooses one.`,
      remedy: `Remove the field.`,
    },
  ];
}

type Requested = Pick<
  DesiredLoadBalancer<Fields>,
  "ports" | "sourceRanges" | "healthCheckNodePort" | "sessionAffinitySeconds" | "targetsHaveEndpoints"
>;

const everyone: readonly string[] = ["0.0.0.0/0", "::/0"];

/** The Service's requests that the cloud does not support, with their consequences. */
function requestsOf({
  ports,
  sourceRanges,
  healthCheckNodePort,
  sessionAffinitySeconds,
  targetsHaveEndpoints,
}: Requested): readonly (readonly [ServiceFeature, string])[] {
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
  if (healthCheckNodePort !== undefined && targetsHaveEndpoints !== true) {
    const effect = "Nodes without an endpoint get traffic, and drop it";
    requests.push(["healthCheckNodePort", `health checks for externalTrafficPolicy Local (${effect})`]);
  }
  return requests;
}

export function unsupportedRequests(
  desired: Requested,
  supports: readonly ServiceFeature[] | undefined,
): readonly Problem[] {
  const isSupported = (feature: ServiceFeature): boolean => supports?.includes(feature) === true;
  const texts = requestsOf(desired).flatMap(([feature, text]) => (isSupported(feature) ? [] : text));
  if (texts.length === 0) return [];
  const { ports } = desired;
  if (ports.length > 0 && ports.every(({ protocol }) => protocol !== "TCP" && !isSupported(protocol))) {
    const refused = ports.map(({ port, protocol }) => `${port}/${protocol}`).join(", ");
    const protocols = [...new Set(ports.map(({ protocol }) => protocol))].join(" and ");
    return [
      {
        severity: "error",
        reason: "UnsupportedRequest",
        key: "spec.ports",
        text: `The load balancers of this cloud do not support ${protocols}, and the Service has no other port (${refused}). No load balancer is created; one that exists stays, and forwards no traffic of these ports.`,
        remedy: `Use TCP, or a different type of Service.`,
      },
    ];
  }
  return [
    {
      severity: "warning",
      reason: "UnsupportedRequest",
      text: `The load balancers of this cloud do not support: ${texts.join("; ")}. Everything else of the Service is applied.`,
      remedy: `Remove it from the Service, or ensure it in another way.`,
    },
  ];
}
