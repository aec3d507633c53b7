// What a Node tells about which machine it is: the question that an inventory answers.

import type { NodeName, ProviderID } from "../core/brand.ts";
import type { MatchKey } from "../provider/instances.ts";

/** A source's reading of a provider id, in whatever spelling, as its key of the machine. */
export type KeyOf = (providerID: string) => string | undefined;

export interface NodeIdentity {
  readonly name: NodeName;
  readonly providerID?: ProviderID;
  readonly uuid?: string;
  readonly addresses: readonly string[];
}

/** One key of an instance, in the form in which it is compared. */
export function comparable(by: MatchKey, value: string): string {
  return by === "uuid" ? value.toLowerCase() : value;
}

/** The values to look for in one source, under one kind of key; several only for addresses. */
export function valuesOf(identity: NodeIdentity, by: MatchKey, keyOf: KeyOf): readonly string[] {
  switch (by) {
    case "id": {
      const key = identity.providerID === undefined ? undefined : keyOf(identity.providerID);
      return key === undefined ? [] : [key];
    }
    case "name":
      return [identity.name];
    case "uuid":
      return identity.uuid === undefined || identity.uuid === "" ? [] : [comparable("uuid", identity.uuid)];
    case "address":
      return identity.addresses;
  }
}
