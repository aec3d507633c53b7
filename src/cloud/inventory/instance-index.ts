// Indexes a complete listing by id, name, UUID and address. Two instances with the same key are both kept, so that an
// ambiguity can name its candidates. Pure.

import type { Instance, InstanceSource, MatchKey } from "../../provider/instances.ts";
import { comparable, type NodeIdentity } from "./node-identity.ts";

/** The answer for one key: the instances, since when they are known, and from which kind of request. */
export interface KeyAnswer {
  readonly instances: readonly Instance[];
  /** When the request began (monotonic). */
  readonly asOf: number;
  readonly proof: "listing" | "lookup";
}

export type InstanceIndex = Readonly<Record<MatchKey, ReadonlyMap<string, readonly Instance[]>>>;

export function keysOf(instance: Instance, by: MatchKey): readonly string[] {
  switch (by) {
    case "id":
      return [instance.key];
    case "name":
      return instance.names;
    case "shortName":
      return instance.shortName === undefined ? [] : [instance.shortName];
    case "uuid":
      return (instance.uuids ?? []).map((uuid) => comparable("uuid", uuid));
    case "address":
      return instance.addresses.filter(({ kind }) => kind.endsWith("IP")).map(({ value }) => value);
  }
}

function indexBy(instances: readonly Instance[], by: MatchKey): Map<string, readonly Instance[]> {
  const index = new Map<string, readonly Instance[]>();
  for (const instance of instances) {
    for (const key of new Set(keysOf(instance, by))) {
      const known = index.get(key);
      index.set(key, known === undefined ? [instance] : [...known, instance]);
    }
  }
  return index;
}

const empty: ReadonlyMap<string, readonly Instance[]> = new Map();

/** Indexes only the kinds of keys in use, because the addresses of 15,000 machines take memory. */
export function indexInstances(instances: readonly Instance[], by: readonly MatchKey[]): InstanceIndex {
  const kinds = new Set<MatchKey>(["id", ...by]);
  const of = (key: MatchKey) => (kinds.has(key) ? indexBy(instances, key) : empty);
  return {
    id: of("id"),
    name: of("name"),
    shortName: of("shortName"),
    uuid: of("uuid"),
    address: of("address"),
  };
}

type Naming = Pick<InstanceSource, "nameDecides">;

/**
 * Whether the machine's name differs from the Node's in a source where names decide. Such a machine has a different purpose,
 * so it does not belong to the Node.
 */
export function isRenamed({ names }: Instance, { nameDecides }: Naming, { name }: NodeIdentity): boolean {
  return nameDecides === true && names.length > 0 && !names.includes(name);
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Whether a machine that was found by a weaker key has a different system UUID than a joining Node. A kubelet that cannot read the
 * UUID reports the machine id of its system, which has no dashes.
 */
function hasOtherUUID(instance: Instance, { uuid = "", providerID }: NodeIdentity): boolean {
  const own = comparable("uuid", uuid);
  if (providerID !== undefined || !uuidForm.test(own) || instance.uuids === undefined) return false;
  return !keysOf(instance, "uuid").includes(own);
}

/** The answer about this Node without machines that have a different name, where names decide, or a different UUID. */
export function answerAbout(identity: NodeIdentity, answer: KeyAnswer, source: Naming): KeyAnswer {
  const isOther = (one: Instance) => isRenamed(one, source, identity) || hasOtherUUID(one, identity);
  return answer.instances.some(isOther)
    ? { ...answer, instances: answer.instances.filter((one) => !isOther(one)) }
    : answer;
}
