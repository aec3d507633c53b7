// The event socket of Rancher as hints: which hosts and load balancers may have changed.

import { type Call, type ChangeHint, type Changes, minutes } from "#ccm";
import type { RancherApi } from "./api.ts";
import { markedOwner, ownersByName } from "./balancer.ts";
import type { ApiLoadBalancer } from "./resources.ts";

/** By default, the server sends a ping every five seconds. */
const maxSilence = minutes(1);

interface Message {
  readonly name?: string;
  readonly resourceType?: string;
  readonly data?: { readonly resource?: Readonly<Record<string, unknown>> | null } | null;
}

function parse(text: string): Message {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Message) : {};
  } catch {
    return {};
  }
}

/** The fields that count as a change, because hosts report their load all the time. */
const compared = {
  host: ["state", "agentState", "hostname", "agentIpAddress", "removed", "labels"],
  balancer: ["state", "transitioning", "transitioningMessage", "healthState", "publicEndpoints", "lbConfig"],
} as const;

const versionOf = (resource: Readonly<Record<string, unknown>>, names: readonly string[]): string =>
  JSON.stringify(names.map((name) => resource[name]));

function hostHint(source: string, key: unknown, version: string): readonly ChangeHint[] {
  return typeof key === "string" ? [{ of: "instance", source, key: key.toLowerCase(), version }] : [];
}

/** The hints in one message. Empty for a ping and for objects that Fairlead does not use. Pure. */
export function hintsIn(text: string): readonly ChangeHint[] {
  const { name, resourceType, data } = parse(text);
  const resource = data?.resource;
  if (name !== "resource.change" || typeof resource !== "object" || resource === null) return [];
  switch (resource["type"] ?? resourceType) {
    case "host": {
      const version = versionOf(resource, compared.host);
      return [
        ...hostHint("hosts", resource["uuid"], version),
        ...hostHint("hosts by API id", resource["id"], version),
      ];
    }
    case "loadBalancerService": {
      const { name, metadata } = resource as Partial<ApiLoadBalancer>;
      const owner = markedOwner(metadata);
      const [named = owner] = owner === undefined ? ownersByName(name ?? "") : [];
      const version = versionOf(resource, compared.balancer);
      return named === undefined ? [] : [{ of: "load-balancer", owner: named, version }];
    }
    case "externalService":
      // Any load balancer may wait for this object.
      return [{ of: "load-balancer" }];
    default:
      return [];
  }
}

export function rancherChanges(api: RancherApi): Changes {
  return {
    maxSilence,
    follow: async function* (call: Call) {
      for await (const message of api.events(call)) yield hintsIn(message);
    },
  };
}
