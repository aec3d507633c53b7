// Branded types: strings and numbers that are validated once, on input, and that the compiler distinguishes.

declare const brand: unique symbol;
/** `T` with a name, so that the compiler does not mix up two kinds of strings or numbers. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** The name of a Node, `metadata.name`. */
export type NodeName = Brand<string, "NodeName">;
/** A Node's `spec.providerID`, for example `hcloud://1234`. */
export type ProviderID = Brand<string, "ProviderID">;
/** The uid of a Service, `metadata.uid`. */
export type ServiceUID = Brand<string, "ServiceUID">;
/** An IP range in canonical form (host bits zero), for example `10.0.0.0/8`. Create one with `parseCidr` or `cidr`. */
export type Cidr = Brand<string, "Cidr">;
/** An IP address in canonical form. Create one with `parseIp` or `ipAddress`. */
export type IpAddress = Brand<string, "IpAddress">;
/** A duration. Create one with `milliseconds`, `seconds` or `minutes`. */
export type Milliseconds = Brand<number, "Milliseconds">;

/** A duration of this many milliseconds. */
export const milliseconds = (amount: number): Milliseconds => amount as Milliseconds;
/** A duration of this many seconds: `seconds(1)`. */
export const seconds = (amount: number): Milliseconds => (amount * 1000) as Milliseconds;
/** A duration of this many minutes. */
export const minutes = (amount: number): Milliseconds => (amount * 60_000) as Milliseconds;

/** Kubernetes has validated the name; the brand only shows the meaning of the string. */
export const nodeName = (name: string): NodeName => name as NodeName;
export const serviceUID = (uid: string): ServiceUID => uid as ServiceUID;

/**
 * A provider id of the form `<scheme>://<id>`. Throws a TypeError for any other text.
 *
 * @example
 * providerID(`hcloud://${server.id}`)
 */
export function providerID(text: string): ProviderID {
  if (!/^[a-z][a-z0-9+.-]*:\/\/.+$/i.test(text)) {
    throw new TypeError(`A provider id must have the form "scheme://id", got ${JSON.stringify(text)}.`);
  }
  return text as ProviderID;
}
