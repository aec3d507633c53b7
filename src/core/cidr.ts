// Ranges of IP addresses. A Cidr is always the canonical network (host bits zero), so that two of them are the same range
// exactly when the strings are equal; text written by others is compared with `isSameCidr`.

import type { Cidr, IpAddress } from "./brand.ts";
import { type IpVersion, parseIp } from "./ip.ts";
import {
  compareGroups,
  formatGroups,
  type Groups,
  type IpForm,
  isIPv4,
  maskGroups,
  parseGroups,
} from "./ip-groups.ts";

interface Range {
  readonly network: Groups;
  /** Counted in 128 bits for both families. */
  readonly bits: number;
  readonly family: IpVersion;
}

function parseRange(text: string, form: IpForm): Range | undefined {
  const slash = text.indexOf("/");
  if (slash === -1) return undefined;
  const address = text.slice(0, slash);
  const prefix = text.slice(slash + 1);
  const groups = parseGroups(address, form);
  if (groups === undefined || !/^[0-9]+$/.test(prefix)) return undefined;
  if (form === "strict" && prefix.length > 1 && prefix.startsWith("0")) return undefined;
  const isWrittenAsIPv4 = !address.includes(":");
  if (Number(prefix) > (isWrittenAsIPv4 ? 32 : 128)) return undefined;
  const bits = Number(prefix) + (isWrittenAsIPv4 ? 96 : 0);
  const network = maskGroups(groups, bits);
  return { network, bits, family: isIPv4(network) && bits >= 96 ? "IPv4" : "IPv6" };
}

function format({ network, bits, family }: Range): Cidr {
  const address = formatGroups(network);
  return `${address}/${family === "IPv4" ? bits - 96 : bits}` as Cidr;
}

function rangeOf(cidr: Cidr): Range {
  const range = parseRange(cidr, "sloppy");
  if (range === undefined) throw new TypeError(`An address range was expected, got ${JSON.stringify(cidr)}.`);
  return range;
}

/** The canonical network, or undefined when it is no range. Host bits are dropped, as Go's ParseCIDR does. */
export function parseCidr(text: string, form: IpForm = "strict"): Cidr | undefined {
  const range = parseRange(text, form);
  return range === undefined ? undefined : format(range);
}

/** For ranges that come from code and fixtures; throws where `parseCidr` gives undefined. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) {
    throw new TypeError(`An address range such as "10.0.0.0/8" was expected, got ${JSON.stringify(text)}.`);
  }
  return parsed;
}

export const cidrFamily = (range: Cidr): IpVersion => rangeOf(range).family;

/** As written after the slash: 0 to 32, or 0 to 128. */
export const prefixLength = (range: Cidr): number => Number(range.slice(range.indexOf("/") + 1));

/** The range that holds just this address. */
export const cidrOfIp = (ip: IpAddress): Cidr => `${ip}/${ip.includes(":") ? 128 : 32}` as Cidr;

/** Whether the inner range or address lies wholly within; false when it is neither. Families never contain each other. */
export function cidrContains(outer: Cidr, inner: string): boolean {
  const large = rangeOf(outer);
  const address = parseIp(inner, "sloppy");
  const small = parseRange(address === undefined ? inner : cidrOfIp(address), "sloppy");
  return (
    small !== undefined &&
    large.family === small.family &&
    large.bits <= small.bits &&
    compareGroups(maskGroups(small.network, large.bits), large.network) === 0
  );
}

export function cidrsOverlap(one: Cidr, other: Cidr): boolean {
  return cidrContains(one, other) || cidrContains(other, one);
}

/** Whether two texts mean one range, however they are spelled; false when one of them is none. */
export function isSameCidr(one: string, other: string): boolean {
  const parsed = parseCidr(one, "sloppy");
  return parsed !== undefined && parsed === parseCidr(other, "sloppy");
}

/** IPv4 before IPv6, then by network, then the wider first: a stable order for plans and documents. */
export function compareCidr(one: Cidr, other: Cidr): number {
  const a = rangeOf(one);
  const b = rangeOf(other);
  return (
    Number(b.family === "IPv4") - Number(a.family === "IPv4") ||
    compareGroups(a.network, b.network) ||
    a.bits - b.bits
  );
}
