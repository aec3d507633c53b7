// A source that invents a machine for every Node name without requests to a cloud. It is for measuring the framework alone,
// not for real clusters.

import { type Instance, type InstanceLookup, type InstanceSource, providerID } from "#ccm";

function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}

function toInstance(name: string): Instance {
  const hash = hashOf(name);
  return {
    key: `any-${name}`,
    id: providerID(`fake://any-${name}`),
    names: [name],
    title: name,
    state: "running",
    addresses: [
      { kind: "Hostname", value: name },
      { kind: "InternalIP", value: `10.${(hash >> 16) & 255}.${(hash >> 8) & 255}.${hash & 255}` },
    ],
    type: "any",
    region: "nowhere",
    zone: `zone-${(hash % 3) + 1}`,
  };
}

/**
 * How many pages a listing has: too many, so that the framework prefers lookups. A listing cannot contain a name that no lookup
 * has returned yet.
 */
const pages = 10_000;

export class AnyNodeSource implements InstanceSource {
  readonly name = "any-node";
  readonly lookups: NonNullable<InstanceSource["lookups"]>;
  /** The machines by name. A listing must include the machine of every known Node, or the Node would be deleted. */
  readonly #known = new Map<string, Instance>();

  constructor(limit: number) {
    const lookup = (nameOf: (key: string) => string): InstanceLookup => ({
      limit,
      find: async (keys) => new Map(keys.map((key) => [key, [this.#instanceOf(nameOf(key))]])),
    });
    this.lookups = { id: lookup((key) => key.slice("any-".length)), name: lookup((name) => name) };
  }

  keyOf(id: string): string | undefined {
    const key = /^fake:\/\/(any-.+)$/.exec(id)?.[1];
    // The Node was initialized by an earlier process.
    if (key !== undefined) this.#instanceOf(key.slice("any-".length));
    return key;
  }

  async *list(): AsyncIterable<readonly Instance[]> {
    yield [...this.#known.values()];
    for (let page = 1; page < pages; page += 1) yield [];
  }

  #instanceOf(name: string): Instance {
    const instance = this.#known.get(name) ?? toInstance(name);
    this.#known.set(name, instance);
    return instance;
  }
}
