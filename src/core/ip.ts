// IP addresses. An IpAddress is always in canonical form, so that two of them are the same address exactly when the
// strings are equal; text written by others is compared with `isSameIp`.

import type { IpAddress } from "./brand.ts";
import { compareGroups, formatGroups, type IpForm, isIPv4, parseGroups } from "./ip-groups.ts";

export type IpVersion = "IPv4" | "IPv6";

/** The canonical form, or undefined when it is no address. An IPv4-mapped IPv6 address is that IPv4 address. */
export function parseIp(text: string, form: IpForm = "strict"): IpAddress | undefined {
  const groups = parseGroups(text, form);
  return groups === undefined ? undefined : (formatGroups(groups) as IpAddress);
}

/** For addresses that come from code and fixtures; throws where `parseIp` gives undefined. */
export function ipAddress(text: string): IpAddress {
  const ip = parseIp(text);
  if (ip === undefined) throw new TypeError(`An IP address was expected, got ${JSON.stringify(text)}.`);
  return ip;
}

export const ipFamily = (ip: IpAddress): IpVersion => (ip.includes(":") ? "IPv6" : "IPv4");

/** Whether two texts mean one address, however they are spelled; false when one of them is none. */
export function isSameIp(one: string, other: string): boolean {
  const ip = parseIp(one, "sloppy");
  return ip !== undefined && ip === parseIp(other, "sloppy");
}

/** IPv4 before IPv6, then by number: a stable order for plans and documents. */
export function compareIp(one: IpAddress, other: IpAddress): number {
  const a = parseGroups(one, "sloppy");
  const b = parseGroups(other, "sloppy");
  if (a === undefined || b === undefined) return one < other ? -1 : one > other ? 1 : 0;
  return Number(isIPv4(b)) - Number(isIPv4(a)) || compareGroups(a, b);
}
