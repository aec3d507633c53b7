// Reads and writes the facts that the provider stores on a Service (such as the ID of its load balancer), in the same place as
// the cloud's Go manager. Pure.

import type { Service } from "../../../kube/objects.ts";
import {
  changeMap,
  type JsonPatchStep,
  jsonPatch,
  type Patch,
  testUID,
  testValue,
} from "../../../kube/patches/patch.ts";
import type { FactPlace, Facts } from "../../../provider/plan.ts";
import { factPrefix, isFactKey } from "../annotations/annotations.ts";

type Places = Readonly<Record<string, FactPlace>>;
type FactChanges = Readonly<Record<string, string | undefined>>;

function placeOf(places: Places, name: string): FactPlace {
  return Object.hasOwn(places, name) && places[name] !== undefined
    ? places[name]
    : { annotation: factPrefix + name };
}

/** The complete keys of annotations that store facts, and are neither settings nor unknown annotations. */
export function factKeysOf(places: Places): readonly string[] {
  return Object.values(places).flatMap((place) =>
    "annotation" in place && place.isSetting !== true ? [place.annotation] : [],
  );
}

export const isFactAnnotation = (places: Places, key: string): boolean => isFactKey(key, factKeysOf(places));

export function isFactLabel(places: Places, key: string): boolean {
  return Object.values(places).some((place) => "label" in place && place.label === key);
}

function written({ metadata, spec }: Service, place: FactPlace): string | undefined {
  if ("annotation" in place) return metadata.annotations?.[place.annotation];
  if ("label" in place) return metadata.labels?.[place.label];
  return spec.loadBalancerIP;
}

/** Go managers clear a fact by setting it to an empty value. */
export function readFacts(service: Service, places: Places): Facts {
  const known = Object.keys(service.metadata.annotations ?? {})
    .filter((key) => key.startsWith(factPrefix))
    .map((key) => key.slice(factPrefix.length));
  const facts: [string, string][] = [];
  for (const name of new Set([...Object.keys(places), ...known])) {
    const value = written(service, placeOf(places, name)) ?? "";
    if (value !== "") facts.push([name, value]);
  }
  return Object.fromEntries(facts);
}

export const hasAddress = ({ status }: Service): boolean => (status.loadBalancer?.ingress ?? []).length > 0;

/** Whether the Service has a fact that only Fairlead or a Go manager writes. */
export function hasFact(service: Service, places: Places): boolean {
  return Object.keys(readFacts(service, places)).some((name) => {
    const place = placeOf(places, name);
    // Users may set loadBalancerIP.
    return !("spec" in place) && !("isSetting" in place);
  });
}

/** Changes only the given facts; undefined removes a fact. Returns undefined if nothing changes. */
export function factsPatch(service: Service, places: Places, changes: FactChanges): Patch | undefined {
  const annotations: Record<string, string | undefined> = {};
  const labels: Record<string, string | undefined> = {};
  const spec: JsonPatchStep[] = [];
  for (const [name, value] of Object.entries(changes)) {
    const place = placeOf(places, name);
    if ("annotation" in place) annotations[place.annotation] = value;
    else if ("label" in place) labels[place.label] = value;
    else spec.push(...changeAddress(service.spec.loadBalancerIP, value));
  }
  const { metadata } = service;
  const steps: readonly JsonPatchStep[] = [
    ...changeMap("/metadata/annotations", metadata.annotations, annotations),
    ...changeMap("/metadata/labels", metadata.labels, labels),
    ...spec,
  ];
  return steps.length === 0 ? undefined : jsonPatch([testUID(service), ...steps]);
}

/** Guarded, because a user may change the address at the same time. */
function changeAddress(present: string | undefined, wanted: string | undefined): readonly JsonPatchStep[] {
  const path = "/spec/loadBalancerIP";
  if ((present ?? "") === (wanted ?? "")) return [];
  const guard = testValue(path, present);
  return wanted === undefined ? [guard, { op: "remove", path }] : [guard, { op: "add", path, value: wanted }];
}
