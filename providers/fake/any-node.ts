// A source that invents a machine for every Node name, without requests to a cloud. For measuring the framework alone, not for
// real clusters.

import { type Instance, type InstanceLookup, type InstanceSource, providerID } from "#ccm";

function numberOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}

function toInstance(name: string): Instance {
  const number = numberOf(name);
  return {
    key: `any-${name}`,
    id: providerID(`fake://any-${name}`),
    names: [name],
    title: name,
    state: "running",
    addresses: [
      { kind: "Hostname", value: name },
      { kind: "InternalIP", value: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}` },
    ],
    type: "any",
    region: "nowhere",
    zone: `zone-${(number % 3) + 1}`,
  };
}

export function anyNodeSource(limit: number): InstanceSource {
  /** A listing must include every machine that a lookup has returned, or its Node would be deleted. */
  const reported = new Map<string, Instance>();
  const lookup = (nameOf: (key: string) => string): InstanceLookup => ({
    limit,
    find: async (keys) =>
      new Map(
        keys.map((key) => {
          const instance = reported.get(nameOf(key)) ?? toInstance(nameOf(key));
          reported.set(instance.title, instance);
          return [key, [instance]];
        }),
      ),
  });
  return {
    name: "any-node",
    keyOf: (id) => /^fake:\/\/(any-.+)$/.exec(id)?.[1],
    list: async function* () {
      if (reported.size > 0) yield [...reported.values()];
    },
    lookups: { id: lookup((key) => key.slice("any-".length)), name: lookup((name) => name) },
  };
}
