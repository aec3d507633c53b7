// Checks one Service, as the manager and the API server would: annotations, source ranges, the address and the ports. Pure.

import type { FieldPath } from "../../config-file/parse-manifests.ts";
import { type AnnotationTable, readAnnotations } from "../../controllers/service/annotations/annotations.ts";
import { sourceRangesOf } from "../../controllers/service/annotations/source-ranges.ts";
import {
  ignoredAnnotations,
  unsupportedRequests,
} from "../../controllers/service/annotations/without-effect.ts";
import type { AnyBalancers } from "../../controllers/service/deps.ts";
import {
  contradictionsIn,
  serviceProblems,
  toDesired,
} from "../../controllers/service/desired/to-desired.ts";
import { wantsLoadBalancer } from "../../controllers/service/predicates.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";

/** The prefixes of annotations that other managers read, with the clouds. */
const prefixesOfClouds: Readonly<Record<string, string>> = {
  "load-balancer.hetzner.cloud/": "Hetzner Cloud",
  "service.beta.kubernetes.io/aws-load-balancer-": "AWS",
  "service.beta.kubernetes.io/azure-": "Azure",
  "service.beta.kubernetes.io/do-loadbalancer-": "DigitalOcean",
  "service.beta.kubernetes.io/linode-loadbalancer-": "Linode",
  "service.beta.kubernetes.io/oci-load-balancer-": "Oracle Cloud",
  "service.beta.kubernetes.io/scw-loadbalancer-": "Scaleway",
  "service.beta.kubernetes.io/vultr-loadbalancer-": "Vultr",
  "loadbalancer.openstack.org/": "OpenStack",
  "networking.gke.io/": "Google Cloud",
  "metallb.io/": "MetalLB",
  "metallb.universe.tf/": "MetalLB",
};

/** A Service that also has annotations of this cloud is for several clouds, so that nothing is wrong with it. */
function otherCloudProblems(
  { metadata }: Service,
  prefix: string,
  isReadElsewhere: (key: string) => boolean,
): readonly Problem[] {
  const keys = Object.keys(metadata.annotations ?? {});
  if (keys.some((key) => key.startsWith(prefix) || isReadElsewhere(key))) return [];
  return keys.flatMap((key): readonly Problem[] => {
    const other = Object.keys(prefixesOfClouds).find((one) => key.startsWith(one));
    if (other === undefined) return [];
    const text = `${key} is for the manager of ${prefixesOfClouds[other]}. This one reads ${prefix}…, so the annotation has no effect. Check the file with the executable of that cloud, or use the annotation of this one`;
    return [{ severity: "warning", reason: "AnnotationOfOtherCloud", key, text }];
  });
}

export interface ServiceRules {
  readonly table: AnnotationTable<Fields>;
  readonly isReadElsewhere: (key: string) => boolean;
  /** What the provider says about load balancers; undefined if the cloud is not configured here. */
  readonly balancers: Pick<AnyBalancers, "supports" | "requestsAdoption"> | undefined;
}

export interface FoundProblem extends Problem {
  readonly path: FieldPath;
}

type Raw = Readonly<Record<string, unknown>>;

function rawAt(value: Raw, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Raw | null | undefined)?.[key], value);
}

const typeName = (value: unknown): string =>
  value === null
    ? "nothing"
    : Array.isArray(value)
      ? "a list"
      : typeof value === "object"
        ? "a mapping"
        : `the ${typeof value} ${String(value)}`;

/** YAML reads `true` and `80` as other types; the API server refuses them. */
function annotationTypes(value: Raw): readonly FoundProblem[] {
  const annotations = rawAt(value, "metadata", "annotations");
  if (typeof annotations !== "object" || annotations === null) return [];
  return Object.entries(annotations).flatMap(([key, one]: [string, unknown]): readonly FoundProblem[] =>
    typeof one === "string"
      ? []
      : [
          {
            severity: "error",
            reason: "InvalidAnnotation",
            key,
            text: `${key} must be a string, got ${typeName(one)}; put it in quotes`,
            path: ["metadata", "annotations", key],
          },
        ],
  );
}

/** The Service with those annotations that are strings, and without the fields that only the API server sets. */
function toService(value: Raw): Service {
  const metadata = (rawAt(value, "metadata") ?? {}) as Raw;
  const annotations = Object.fromEntries(
    Object.entries((metadata["annotations"] ?? {}) as Raw).filter(([, one]) => typeof one === "string"),
  );
  const spec = rawAt(value, "spec") ?? {};
  return {
    spec,
    status: {},
    metadata: { uid: "", resourceVersion: "", ...metadata, annotations },
  } as unknown as Service;
}

function portProblems(service: Service): readonly FoundProblem[] {
  const ports = service.spec.ports ?? [];
  const problem = (index: number, field: string, text: string): FoundProblem => ({
    ...{ severity: "error", reason: "InvalidPort", text },
    path: ["spec", "ports", index, field],
  });
  const seen = new Map<string, number>();
  const names = new Map<string, number>();
  if (ports.length === 0) {
    const text = "spec.ports is empty, and the API server requires at least one port";
    return [{ severity: "error", reason: "InvalidPort", text, path: ["spec", "ports"] }];
  }
  return ports.flatMap(({ port, protocol = "TCP", name }, index) => {
    const found: FoundProblem[] = [];
    const key = `${port}/${protocol}`;
    const first = seen.get(key);
    const at = `spec.ports[${index}]`;
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      found.push(
        problem(index, "port", `${at}.port must be a number from 1 to 65535, got ${typeName(port)}`),
      );
    if (first !== undefined)
      found.push(
        problem(index, "port", `${at} has the port ${key} of spec.ports[${first}]; keep one of them`),
      );
    if (ports.length > 1 && name === undefined)
      found.push(
        problem(index, "port", `${at}.name is missing, and the API server requires it of several ports`),
      );
    if (name !== undefined && names.has(name))
      found.push(
        problem(
          index,
          "name",
          `${at}.name ${JSON.stringify(name)} is also the name of spec.ports[${names.get(name)}]`,
        ),
      );
    seen.set(key, first ?? index);
    if (name !== undefined && !names.has(name)) names.set(name, index);
    return found;
  });
}

/** The path of the field that a problem is about. */
function pathOf({ key }: Problem, { metadata }: Service): FieldPath {
  if (key === undefined) return ["spec"];
  if (Object.hasOwn(metadata.annotations ?? {}, key)) return ["metadata", "annotations", key];
  return key.startsWith("spec.") ? key.split(".") : ["metadata"];
}

export interface LintedService {
  readonly problems: readonly FoundProblem[];
  /** The load balancer that it asks to adopt. */
  readonly adopts: string | undefined;
}

/** Undefined if it needs no load balancer of Fairlead. */
export function lintService(
  value: Raw,
  { table, isReadElsewhere, balancers }: ServiceRules,
): LintedService | undefined {
  const service = toService(value);
  if (!wantsLoadBalancer(service)) return undefined;
  const read = readAnnotations(table, service, { isReadElsewhere });
  const { settings } = read;
  const written = sourceRangesOf(service);
  const { ranges, isSpecified } = written;
  const sourceRanges = isSpecified ? ranges : undefined;
  const desired = toDesired({ service, settings, facts: {}, targets: [], sourceRanges });
  const unsupported = balancers === undefined ? [] : unsupportedRequests(desired, balancers.supports, false);
  const found = [
    ...read.problems,
    ...contradictionsIn(table, service, read),
    ...serviceProblems(service, written),
    ...ignoredAnnotations(service, read.own),
    ...unsupported,
    ...otherCloudProblems(service, table.prefix, isReadElsewhere),
  ].map((problem) => ({ ...problem, path: pathOf(problem, service) }));
  return {
    problems: [...annotationTypes(value), ...portProblems(service), ...found],
    adopts: balancers?.requestsAdoption?.(desired),
  };
}
