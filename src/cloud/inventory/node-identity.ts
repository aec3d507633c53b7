// The properties of a Node that identify its machine: provider id, name, UUID and addresses. Pure.

import type { NodeName, ProviderID } from "../../core/brand.ts";
import type { MatchKey } from "../../provider/instances.ts";

/** A source's key for a provider id in any spelling; undefined if the id does not belong to the source. */
export type KeyOf = (providerID: string) => string | undefined;

/** The source's key. A provider id may be any text; if the provider throws, the id does not belong to the source. */
export function sourceKeyOf(source: { readonly keyOf: KeyOf }, providerID: string): string | undefined {
  try {
    return source.keyOf(providerID);
  } catch {
    return undefined;
  }
}

export interface NodeIdentity {
  readonly name: NodeName;
  readonly providerID?: ProviderID;
  readonly uuid?: string;
  readonly addresses: readonly string[];
}

/** A key in its comparable form. */
export function comparable(by: MatchKey, value: string): string {
  return by === "uuid" ? value.toLowerCase() : value;
}

/** A Node's values for one kind of key. Only addresses can have several. */
export function valuesOf(identity: NodeIdentity, by: MatchKey, keyOf: KeyOf): readonly string[] {
  switch (by) {
    case "id": {
      const key = identity.providerID === undefined ? undefined : keyOf(identity.providerID);
      return key === undefined ? [] : [key];
    }
    case "name":
      return [identity.name];
    case "shortName": {
      const [shortName = ""] = identity.name.split(".");
      return shortName === identity.name ? [] : [shortName];
    }
    case "uuid":
      return identity.uuid === undefined || identity.uuid === "" ? [] : [comparable("uuid", identity.uuid)];
    case "address":
      return identity.addresses;
  }
}
