// Strings and numbers with a meaning. A branded value was checked once, at the edge; nothing else makes one.

declare const brand: unique symbol;
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

export type NodeName = Brand<string, "NodeName">;
/** What stands in a Node's `spec.providerID`, for example `hcloud://1234`. */
export type ProviderID = Brand<string, "ProviderID">;
export type ServiceUID = Brand<string, "ServiceUID">;
export type Cidr = Brand<string, "Cidr">;
export type IpAddress = Brand<string, "IpAddress">;
export type Milliseconds = Brand<number, "Milliseconds">;

export const milliseconds = (amount: number): Milliseconds => amount as Milliseconds;
export const seconds = (amount: number): Milliseconds => (amount * 1000) as Milliseconds;
export const minutes = (amount: number): Milliseconds => (amount * 60_000) as Milliseconds;

/** Kubernetes has already checked these; the brand only says which string it is. */
export const nodeName = (name: string): NodeName => name as NodeName;
export const serviceUID = (uid: string): ServiceUID => uid as ServiceUID;

/** A provider id is `<scheme>://<rest>`; anything else is refused with what was expected. */
export function providerID(text: string): ProviderID {
  if (!/^[a-z][a-z0-9+.-]*:\/\/.+$/i.test(text)) {
    throw new TypeError(`A provider id looks like "scheme://id", got ${JSON.stringify(text)}.`);
  }
  return text as ProviderID;
}
