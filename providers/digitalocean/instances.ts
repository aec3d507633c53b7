// Droplets as instances: one source, with lookups by id and name.

import {
  type Call,
  collect,
  type Instance,
  type InstanceAddress,
  type InstanceSource,
  ifFound,
  type LookupResult,
  type Problem,
  parseIp,
  providerID,
} from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import type { ApiDroplet } from "./resources.ts";

const addressIn = (
  list: ApiDroplet["networks"]["v4"],
  wanted: "private" | "public",
): InstanceAddress["value"] | undefined => list?.find(({ type }) => type === wanted)?.ip_address;

function withoutPrivate(name: string): Problem {
  const text = `The droplet ${name} has no private IPv4 address. A joining Node stays uninitialized until it has one. Move the droplet into a VPC.`;
  return { severity: "error", reason: "IncompleteInstance", text };
}

function toInstance({ id, name, status, size_slug, region, networks }: ApiDroplet): Instance {
  const internal = addressIn(networks.v4, "private");
  const ipv4 = addressIn(networks.v4, "public");
  const ipv6 = addressIn(networks.v6, "public");
  const external = [ipv4, ipv6].flatMap((value) => value ?? []);
  return {
    key: String(id),
    id: providerID(`digitalocean://${id}`),
    // The kubelet may register with an address.
    names: [name, ...(internal === undefined ? [] : [internal]), ...external],
    title: name,
    state: status === "off" ? "stopped" : "running",
    handles: {
      region: region.slug,
      ...(ipv4 !== undefined && { ipv4 }),
      ...(ipv6 !== undefined && { ipv6 }),
    },
    addresses: [
      { kind: "Hostname", value: name },
      ...(internal === undefined ? [] : [{ kind: "InternalIP", value: internal } as const]),
      ...external.map((value) => ({ kind: "ExternalIP", value }) as const),
    ],
    type: size_slug,
    region: region.slug,
    ...(internal === undefined && { problems: [withoutPrivate(name)] }),
  };
}

export function dropletSource(api: DigitalOceanApi): InstanceSource {
  const findByID = async ([id = ""]: readonly string[], call: Call): Promise<LookupResult> => {
    const droplet = await ifFound(api.droplet(id, call));
    return new Map([[id, droplet === undefined ? [] : [toInstance(droplet)]]]);
  };
  const findByName = async ([name = ""]: readonly string[], call: Call): Promise<LookupResult> => {
    // The filter of the API knows names only, and ignores their case.
    const filter = parseIp(name) === undefined ? name : undefined;
    const found = (await collect(api.droplets(call, filter))).map(toInstance);
    return new Map([[name, found.filter(({ names }) => names.includes(name))]]);
  };
  return {
    name: "droplets",
    keyOf: (id) => /^digitalocean:\/\/(\d+)$/.exec(id)?.[1],
    list: async function* (call) {
      for await (const page of api.droplets(call)) yield page.map(toInstance);
    },
    lookups: { id: { limit: 1, find: findByID }, name: { limit: 1, find: findByName } },
  };
}
