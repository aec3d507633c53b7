// Droplets as instances: one source, with lookups by id and name.

import {
  collect,
  errorProblem,
  type Instance,
  type InstanceSource,
  lookupEach,
  mapEntries,
  parseIp,
  providerID,
} from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import type { ApiAddresses, ApiDroplet } from "./resources.ts";

/**
 * A tag such as `team:web` becomes a label with a value. The order of tags has no meaning, so of
 * two tags with one key the later by name counts.
 */
function labelsOf(tags: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    tags.toSorted().map((tag) => {
      const [key = "", ...value] = tag.split(":");
      return [key, value.join(":")];
    }),
  );
}

function toInstance({ id, name, status, size_slug, region, tags, networks }: ApiDroplet): Instance {
  const addressOf = (list: ApiAddresses | undefined, wanted: "private" | "public") =>
    list?.find(({ type }) => type === wanted)?.ip_address;
  const internal = addressOf(networks.v4, "private");
  const [ipv4, ipv6] = [addressOf(networks.v4, "public"), addressOf(networks.v6, "public")];
  const addresses = [
    { kind: "Hostname", value: name },
    { kind: "InternalIP", value: internal },
    { kind: "ExternalIP", value: ipv4 },
    { kind: "ExternalIP", value: ipv6 },
  ] as const;
  const known = addresses.flatMap(({ kind, value }) => (value === undefined ? [] : [{ kind, value }]));
  const text = `The droplet ${name} has no private IPv4 address. A joining Node stays uninitialized until it has one. Move the droplet into a VPC.`;
  return {
    key: String(id),
    id: providerID(`digitalocean://${id}`),
    // The kubelet may register with an address as its name.
    names: known.map(({ value }) => value),
    title: name,
    state: status === "off" ? "stopped" : "running",
    handles: {
      region: region.slug,
      ...(ipv4 !== undefined && { ipv4 }),
      ...(ipv6 !== undefined && { ipv6 }),
    },
    addresses: known,
    type: size_slug,
    region: region.slug,
    cloudLabels: labelsOf(tags ?? []),
    ...(internal === undefined && { problems: [errorProblem("IncompleteInstance", text)] }),
  };
}

/** The id of the droplet, for its provider id. */
export const dropletIDOf = (id: string): string | undefined => /^digitalocean:\/\/(\d+)$/.exec(id)?.[1];

export function dropletSource(api: DigitalOceanApi): InstanceSource {
  return {
    name: "droplets",
    keyOf: dropletIDOf,
    list: (call) => mapEntries(api.droplets(call), toInstance),
    lookups: {
      id: lookupEach(async (id, call) => toInstance(await api.droplet(id, call))),
      name: lookupEach(async (name, call) => {
        // The filter of the API accepts only names, and ignores their case.
        const found = await collect(api.droplets(call, parseIp(name) === undefined ? name : undefined));
        return found.map(toInstance).filter(({ names }) => names.includes(name));
      }),
    },
  };
}
