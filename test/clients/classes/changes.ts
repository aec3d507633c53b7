// The Services that two managers divide between them by class, and seeded changes of users to Services and Nodes. Pure.

import type { RehearsedService } from "../../../scripts/rehearse/cloud.ts";
import type { Service } from "../../../src/kube/objects.ts";
import type { Random } from "../../../src/platform/random.ts";

/** The class that Fairlead serves. */
export const shop = "example.com/shop";

/** Names of Service variants between which a load balancer can change without being recreated. */
export type Family = readonly string[];
/** Variants by name, with the ids of one cloud. */
export type Variants = Readonly<Record<string, RehearsedService>>;

export interface ModelService {
  readonly name: string;
  readonly family: Family;
  readonly variant: string;
  /** Whether the Service has the class. */
  readonly isOfClass: boolean;
  /** Whether the Service is of type LoadBalancer. */
  readonly isBalanced: boolean;
  /** Determines the node ports, so that two clusters have the same. */
  readonly number: number;
}

export type Model = ReadonlyMap<string, ModelService>;

/** The next change in both clusters. A recreated Service keeps its name. */
export type Change =
  | { readonly kind: "put"; readonly service: ModelService }
  | { readonly kind: "delete"; readonly name: string }
  /** The Service is deleted, or changed to ClusterIP; when that has settled, it is created with the other class. */
  | { readonly kind: "move"; readonly service: ModelService; readonly isRecreated: boolean }
  | { readonly kind: "join" | "leave" | "exclude" | "include"; readonly node: number };

/** A change that is one request to Kubernetes. */
export type SimpleChange = Exclude<Change, { readonly kind: "move" }>;

export const portsOf = ({ variant, number }: ModelService, variants: Variants): readonly number[] =>
  (variants[variant]?.ports ?? [{ port: 80 }]).map(({ port }) => port + 1000 * (number % 3));

/** Unset members are null, for a merge patch. */
export function specOf(service: ModelService, variants: Variants): Partial<Service["spec"]> {
  const { variant, number, isOfClass, isBalanced, name } = service;
  const { spec = {}, ports: drafts = [{ port: 80 }] } = variants[variant] ?? {};
  const first = 30_000 + 10 * number;
  const ports = portsOf(service, variants).map((port, index) => ({
    name: `port-${index}`,
    port,
    protocol: drafts[index]?.protocol ?? "TCP",
    ...(isBalanced && { nodePort: first + index }),
  }));
  const policy = spec["externalTrafficPolicy"];
  const ofBalancer = {
    loadBalancerClass: isOfClass ? shop : null,
    loadBalancerSourceRanges: spec["loadBalancerSourceRanges"] ?? null,
    externalTrafficPolicy: policy ?? "Cluster",
    healthCheckNodePort: policy === "Local" ? first + 9 : null,
  };
  const none = Object.fromEntries(Object.keys(ofBalancer).map((member) => [member, null]));
  return {
    type: isBalanced ? "LoadBalancer" : "ClusterIP",
    selector: { app: name },
    sessionAffinity: spec["sessionAffinity"] ?? "None",
    ports,
    ...(isBalanced ? ofBalancer : none),
  } as unknown as Partial<Service["spec"]>;
}

export interface Users {
  readonly families: readonly Family[];
  /** The number of Nodes, all of which join at first. */
  readonly nodes: number;
  readonly random: Random;
}

const usualCount = 5;

/** Yields `count` changes. The first ones create a few Services. */
export function* changes({ families, nodes, random }: Users, count: number): Generator<Change> {
  const choose = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)] as T;
  const model = new Map<string, ModelService>();
  const away = new Map<number, "leave" | "exclude">();
  const put = (service: ModelService): ModelService => {
    model.set(service.name, service);
    return service;
  };
  for (let number = 0; number < count; ) {
    const known = [...model.values()];
    const kinds = ["create", "delete", "variant", "ports", "type", "move", "node"] as const;
    const kind = known.length < usualCount ? "create" : choose(kinds);
    const one = known.length === 0 ? undefined : choose(known);
    if (kind === "create" || one === undefined) {
      const family = choose(families);
      const isOfClass = random.fraction() < 0.5;
      const name = `web${String(number).padStart(3, "0")}`;
      const variant = choose(family);
      yield { kind: "put", service: put({ name, family, variant, isOfClass, isBalanced: true, number }) };
    } else if (kind === "delete") {
      model.delete(one.name);
      yield { kind: "delete", name: one.name };
    } else if (kind === "move") {
      const service = put({ ...one, isOfClass: !one.isOfClass, isBalanced: true, number });
      yield { kind: "move", service, isRecreated: random.fraction() < 0.5 };
    } else if (kind === "node") {
      const node = Math.floor(random.fraction() * nodes);
      const was = away.get(node);
      const next = was === undefined ? choose(["leave", "exclude"] as const) : undefined;
      if (next === undefined) away.delete(node);
      else if (away.size < nodes - 1) away.set(node, next);
      else continue;
      yield { kind: next ?? (was === "leave" ? "join" : "include"), node };
    } else if (kind === "type") yield { kind: "put", service: put({ ...one, isBalanced: !one.isBalanced }) };
    else if (kind === "ports") yield { kind: "put", service: put({ ...one, number }) };
    else yield { kind: "put", service: put({ ...one, variant: choose(one.family) }) };
    number += 1;
  }
}
