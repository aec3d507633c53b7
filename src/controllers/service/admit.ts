// The admission webhook's decision about a write to a Service: rejects invalid values of known annotations, and warns about
// unknown annotations. Only annotations that the request changes are checked, so that an existing error does not block other
// writes. Pure.

import { defined } from "../../core/defined.ts";
import { messageIn } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";
import { type AnnotationTable, otherControllerOf, readAnnotations } from "./annotations/annotations.ts";
import { contradictionsIn } from "./desired/to-desired.ts";
import { isBeingDeleted, wantsLoadBalancer } from "./predicates.ts";
import type { ServedClasses } from "./served-classes.ts";

export interface ServiceWrite {
  readonly operation: string;
  readonly object: unknown;
  readonly oldObject: unknown;
}

export interface AdmissionDecision {
  readonly refusal?: string;
  readonly warnings?: readonly string[];
}

function annotationsOf(value: unknown): Readonly<Record<string, string>> {
  const given = (value as { metadata?: { annotations?: unknown } } | null | undefined)?.metadata?.annotations;
  if (typeof given !== "object" || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

const withAnnotations = (value: unknown, annotations: Readonly<Record<string, string>>): Service => ({
  ...(value as Service),
  metadata: { ...(value as Service).metadata, annotations },
});

function isServiceForUs(value: unknown, classes: ServedClasses): boolean {
  const service = value as Partial<Service> | null | undefined;
  if (service?.spec === undefined || service.metadata === undefined) return false;
  return wantsLoadBalancer(service as Service, classes) && !isBeingDeleted(service as Service);
}

export function admitService(
  { operation, object, oldObject }: ServiceWrite,
  table: AnnotationTable<Fields>,
  classes: ServedClasses,
): AdmissionDecision {
  if ((operation !== "CREATE" && operation !== "UPDATE") || !isServiceForUs(object, classes)) return {};
  const [now, before] = [annotationsOf(object), annotationsOf(oldObject)];
  // When this write turns the Service into a load balancer, all its annotations count as changed.
  const isNew = operation === "CREATE" || !isServiceForUs(oldObject, classes);
  const isTouched = (key: string | undefined): boolean =>
    key !== undefined && Object.hasOwn(now, key) && (isNew || now[key] !== before[key]);
  const service = withAnnotations(object, now);
  const read = readAnnotations(table, service);
  if (otherControllerOf(table, service) !== undefined) return {};
  // The Service may have had the contradiction before this write.
  const old = isNew ? undefined : withAnnotations(oldObject, before);
  const known = old && contradictionsIn(table, old, readAnnotations(table, old));
  const isKnown = (text: string): boolean => known?.some((one) => one.text === text) === true;
  const problems = [
    ...read.problems.filter(({ key }) => isTouched(key)),
    ...contradictionsIn(table, service, read).filter(({ text }) => !isKnown(text)),
  ];
  const texts = (severity: string) =>
    problems.filter((problem) => problem.severity === severity).map(messageIn);
  const [errors, warnings] = [texts("error"), texts("warning")];
  return defined({
    refusal: errors.length > 0 ? errors.join("; ") : undefined,
    warnings: warnings.length > 0 ? warnings : undefined,
  });
}
