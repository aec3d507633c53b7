// Parses and compares CIDRs. A `Cidr` is in canonical form (host bits zero), so equal ranges are equal strings. Parse text
// from users or from a cloud before comparing it. Pure.

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
  /** The length of the prefix out of 128 bits, for IPv4 too. */
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
  if (range === undefined) throw new TypeError(`Expected a CIDR, got ${JSON.stringify(cidr)}.`);
  return range;
}

/**
 * The range in canonical form, or undefined when the text is not a CIDR. Host bits are dropped, as Go's ParseCIDR does.
 *
 * @example
 * parseCidr("10.0.0.1/8") // "10.0.0.0/8"
 */
export function parseCidr(text: string, form: IpForm = "strict"): Cidr | undefined {
  const range = parseRange(text, form);
  return range === undefined ? undefined : format(range);
}

/** Parsed once, because every plan of a Service without source ranges needs these ranges. */
const everyAddress = { IPv4: cidr("0.0.0.0/0"), IPv6: cidr("::/0") };

/**
 * `0.0.0.0/0` and `::/0`, for clouds in which "all clients" must be explicit.
 *
 * @example
 * const ranges = desired.sourceRanges ?? allAddresses(desired.families);
 */
export function allAddresses(families: readonly IpVersion[]): readonly Cidr[] {
  return families.map((family) => everyAddress[family]);
}

/** A range from a constant. Throws a TypeError where `parseCidr` returns undefined. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) {
    throw new TypeError(`Expected a CIDR such as "10.0.0.0/8", got ${JSON.stringify(text)}.`);
  }
  return parsed;
}

/** Whether the range is IPv4 or IPv6. */
export const cidrFamily = (range: Cidr): IpVersion => rangeOf(range).family;

/** The number after the slash: 0 to 32, or 0 to 128. */
export const prefixLength = (range: Cidr): number => Number(range.slice(range.indexOf("/") + 1));

/** The range that contains only this address. */
export const cidrOfIp = (ip: IpAddress): Cidr => `${ip}/${ip.includes(":") ? 128 : 32}` as Cidr;

/** Whether the inner range or address lies within the outer range. False for other text, and across IP families. */
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
