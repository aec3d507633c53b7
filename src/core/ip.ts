// Parses and compares IP addresses. An `IpAddress` is in canonical form, so equal addresses are equal strings. Compare text
// from users or from a cloud with `isSameIp`. Pure.

import type { IpAddress } from "./brand.ts";
import { compareGroups, formatGroups, type IpForm, isIPv4, parseGroups } from "./ip-groups.ts";

/** The IP family, spelled as in a Service's `spec.ipFamilies`. */
export type IpVersion = "IPv4" | "IPv6";

/**
 * The address in canonical form, or undefined when the text is not an IP address. An IPv4-mapped IPv6 address becomes IPv4.
 *
 * @example
 * parseIp("2001:DB8::0:1") // "2001:db8::1"
 */
export function parseIp(text: string, form: IpForm = "strict"): IpAddress | undefined {
  const groups = parseGroups(text, form);
  return groups === undefined ? undefined : (formatGroups(groups) as IpAddress);
}

/** An address from a constant. Throws a TypeError where `parseIp` returns undefined. */
export function ipAddress(text: string): IpAddress {
  const ip = parseIp(text);
  if (ip === undefined) throw new TypeError(`Expected an IP address, got ${JSON.stringify(text)}.`);
  return ip;
}

/** Whether the address is IPv4 or IPv6. */
export const ipFamily = (ip: IpAddress): IpVersion => (ip.includes(":") ? "IPv6" : "IPv4");

/** Whether two texts are the same address in any spelling. False if either is not an address. */
export function isSameIp(one: string, other: string): boolean {
  const ip = parseIp(one, "sloppy");
  return ip !== undefined && ip === parseIp(other, "sloppy");
}

/** Sort order: IPv4 before IPv6, then by number. */
export function compareIp(one: IpAddress, other: IpAddress): number {
  const a = parseGroups(one, "sloppy");
  const b = parseGroups(other, "sloppy");
  if (a === undefined || b === undefined) return one < other ? -1 : one > other ? 1 : 0;
  return Number(isIPv4(b)) - Number(isIPv4(a)) || compareGroups(a, b);
}
