// Checks one Service like the manager and the API server: annotations, source ranges, the address and the ports. Pure.

import type { FieldPath } from "../../config-file/parse-manifests.ts";
import {
  type AnnotationTable,
  type OtherController,
  otherControllerOf,
  type ReadAnnotations,
  readAnnotations,
  readsAnnotation,
} from "../../controllers/service/annotations/annotations.ts";
import { sourceRangesOf } from "../../controllers/service/annotations/source-ranges.ts";
import {
  honorsAddress,
  ignoredAddress,
  ignoredAnnotations,
  unsupportedRequests,
} from "../../controllers/service/annotations/without-effect.ts";
import type { AnyBalancers } from "../../controllers/service/deps.ts";
import {
  contradictionsIn,
  serviceProblems,
  writtenBy,
} from "../../controllers/service/desired/to-desired.ts";
import { isForeignClass, wantsLoadBalancer } from "../../controllers/service/predicates.ts";
import type { ServedClasses } from "../../controllers/service/served-classes.ts";
import { ownPrefix } from "../../controllers/well-known.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";
import type { DesiredLoadBalancer } from "../../provider/load-balancers.ts";
import type { FactPlace } from "../../provider/plan.ts";

/** The prefixes of annotations that the clouds' managers read, with the clouds. */
const keysOfClouds: Readonly<Record<string, string>> = {
  "load-balancer.hetzner.cloud/": "Hetzner Cloud",
  "service.beta.kubernetes.io/aws-load-balancer-": "AWS",
  "service.beta.kubernetes.io/azure-": "Azure",
  "service.beta.kubernetes.io/do-loadbalancer-": "DigitalOcean",
  "service.kubernetes.io/do-loadbalancer-": "DigitalOcean",
  "kubernetes.digitalocean.com/": "DigitalOcean",
  "service.beta.kubernetes.io/linode-loadbalancer-": "Linode",
  "service.beta.kubernetes.io/oci-load-balancer-": "Oracle Cloud",
  "service.beta.kubernetes.io/openstack-": "OpenStack",
  "service.beta.kubernetes.io/scw-loadbalancer-": "Scaleway",
  "service.beta.kubernetes.io/vultr-loadbalancer-": "Vultr",
  "loadbalancer.openstack.org/": "OpenStack",
  "networking.gke.io/": "Google Cloud",
  "metallb.io/": "MetalLB",
  "metallb.universe.tf/": "MetalLB",
};

function cloudOf(key: string): string | undefined {
  const start = Object.keys(keysOfClouds).find((one) => key.startsWith(one));
  return start === undefined ? undefined : keysOfClouds[start];
}

/** A file with annotations of several clouds may be intended for all of them. */
function otherCloudProblems({ metadata }: Service, table: AnnotationTable<Fields>): readonly Problem[] {
  const keys = Object.keys(metadata.annotations ?? {});
  const own = [table.prefix, ...Object.keys(table.fields), ...(table.factKeys ?? [])].map(cloudOf);
  const reads = readsAnnotation(table);
  const isForSeveral = keys.some((key) => reads(key) && !key.startsWith(ownPrefix));
  return keys.flatMap((key): readonly Problem[] => {
    const cloud = cloudOf(key);
    if (cloud === undefined || own.includes(cloud)) return [];
    const severity = isForSeveral ? "hint" : "warning";
    const advice = isForSeveral
      ? "Remove it, unless the file is for both clouds"
      : "Check the file with the executable of that cloud, or use the annotation of this one";
    const text = `${key} is for the manager of ${cloud}. This one reads ${table.prefix}…, so the annotation has no effect. ${advice}`;
    return [{ severity, reason: "AnnotationOfOtherCloud", key, text }];
  });
}

export interface ServiceRules {
  readonly classes: ServedClasses;
  readonly table: AnnotationTable<Fields>;
  readonly facts: Readonly<Record<string, FactPlace>>;
  /** The provider's load balancer definition; undefined if the cloud is not configured here. */
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

/** YAML parses `true` and `80` as other types, which the API server rejects. */
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

/** The Service with only its string annotations, and without the fields that only the API server sets. */
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

function portProblems({ spec }: Service): readonly FoundProblem[] {
  const ports = spec.ports ?? [];
  const problem = (text: string, ...place: readonly (string | number)[]): FoundProblem => ({
    severity: "error",
    reason: "InvalidPort",
    text,
    path: ["spec", "ports", ...place],
  });
  if (ports.length === 0)
    return [problem("spec.ports is empty, and the API server requires at least one port")];
  const keys = ports.map(({ port, protocol = "TCP" }) => `${port}/${protocol}`);
  const names = ports.map(({ name }) => name);
  return ports.flatMap(({ port, name }, index) => {
    const at = `spec.ports[${index}]`;
    const key = keys[index] ?? "";
    const [samePort, sameName] = [keys.indexOf(key), names.indexOf(name)];
    const isInvalid = !Number.isInteger(port) || port < 1 || port > 65_535;
    const isUnnamed = ports.length > 1 && name === undefined;
    const isTaken = name !== undefined && sameName < index;
    const checks: readonly (readonly [isFound: boolean, field: string, text: string])[] = [
      [isInvalid, "port", `${at}.port must be a number from 1 to 65535, got ${typeName(port)}`],
      [samePort < index, "port", `${at} has the port ${key} of spec.ports[${samePort}]; keep one of them`],
      [isUnnamed, "port", `${at}.name is missing, and the API server requires it of several ports`],
      [isTaken, "name", `${at}.name ${JSON.stringify(name)} is also the name of spec.ports[${sameName}]`],
    ];
    return checks.flatMap(([isFound, field, text]) => (isFound ? problem(text, index, field) : []));
  });
}

/** The path of the field that a problem concerns. */
function pathOf({ key }: Problem, { metadata }: Service): FieldPath {
  if (key === undefined) return ["spec"];
  if (Object.hasOwn(metadata.annotations ?? {}, key)) return ["metadata", "annotations", key];
  return key.startsWith("spec.") ? key.split(".") : ["metadata"];
}

/** Checks a Service that needs a load balancer. */
function balancerProblems(
  service: Service,
  { table, facts, balancers }: ServiceRules,
  read: ReadAnnotations<Fields>,
  desired: DesiredLoadBalancer<Fields>,
): readonly Problem[] {
  const isIgnored = balancers !== undefined && !honorsAddress(facts, balancers.supports);
  return [
    ...read.problems,
    ...contradictionsIn(table, service, read),
    ...serviceProblems(service, sourceRangesOf(service)),
    ...ignoredAnnotations(service, read.own),
    ...(balancers === undefined ? [] : unsupportedRequests(desired, balancers.supports)),
    ...(isIgnored ? ignoredAddress(desired.requestedAddress, service) : []),
    ...otherCloudProblems(service, table),
  ];
}

/** Annotations that Fairlead reads have no effect here, and the other controller's annotations are unknown. */
function leftAlone({ key, text }: OtherController, service: Service): FoundProblem {
  const problem: Problem = {
    severity: "hint",
    reason: "ServedElsewhere",
    key,
    text: `${text}. Fairlead does nothing for it, and its annotations are not checked`,
  };
  return { ...problem, path: pathOf(problem, service) };
}

export interface LintedService {
  readonly problems: readonly FoundProblem[];
  /** The load balancer that the Service requests to adopt. */
  readonly adopts: string | undefined;
}

/**
 * Undefined if there is nothing to check: a Service of a different type without Fairlead's annotations, or of a class that another
 * controller serves.
 */
export function lintService(value: Raw, rules: ServiceRules): LintedService | undefined {
  const service = toService(value);
  const { table, balancers, classes } = rules;
  const read = readAnnotations(table, service);
  const isServed = wantsLoadBalancer(service, classes);
  const keys = Object.keys((rawAt(value, "metadata", "annotations") ?? {}) as Raw);
  if (!isServed && isForeignClass(service, classes)) return undefined;
  const other = otherControllerOf(table, service);
  if (other !== undefined) return { problems: [leftAlone(other, service)], adopts: undefined };
  const desired = writtenBy(service, read.settings);
  // Without a load balancer, no annotation is missing.
  const found = isServed
    ? balancerProblems(service, rules, read, desired)
    : read.problems.filter(({ key = "" }) => keys.includes(key));
  if (!isServed && found.length === 0 && !keys.some(readsAnnotation(table))) return undefined;
  return {
    problems: [
      ...annotationTypes(value),
      ...(isServed ? portProblems(service) : []),
      ...found.map((problem) => ({ ...problem, path: pathOf(problem, service) })),
    ],
    adopts: isServed ? balancers?.requestsAdoption?.(desired) : undefined,
  };
}
