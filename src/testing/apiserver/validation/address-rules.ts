// How the API server has validated IP addresses and CIDRs in old fields since Kubernetes 1.36: it accepts any notation, except
// leading zeros, IPv4-mapped addresses and host bits. Values that the object already had are not validated again.

import { parseCidr } from "../../../core/cidr.ts";
import { isSameIp, parseIp } from "../../../core/ip.ts";
import { type Cause, invalidValue } from "../objects/api-error.ts";

const isMapped = (text: string): boolean =>
  text.includes(":") && parseIp(text, "sloppy")?.includes(":") === false;

function ipProblem(text: string): string | undefined {
  if (parseIp(text, "sloppy") === undefined)
    return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  if (parseIp(text) === undefined) return "must not have leading 0s";
  return isMapped(text) ? "must not be an IPv4-mapped IPv6 address" : undefined;
}

function cidrProblem(text: string): string | undefined {
  const [address = ""] = text.split("/");
  const range = parseCidr(text, "sloppy");
  if (range === undefined) return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  if (parseCidr(text) === undefined) return "must not have leading 0s in IP or prefix length";
  if (isMapped(address)) return "must not have an IPv4-mapped IPv6 address";
  const [network = ""] = range.split("/");
  return isSameIp(address, network) ? undefined : "must not have bits set beyond the prefix length";
}

function causesOf(
  field: string,
  text: string,
  before: readonly string[],
  problem: string | undefined,
): Cause[] {
  return problem === undefined || before.includes(text) ? [] : [invalidValue(field, text, problem)];
}

export const ipCauses = (field: string, text: string, before: readonly string[] = []): Cause[] =>
  causesOf(field, text, before, ipProblem(text));

export const cidrCauses = (field: string, text: string, before: readonly string[] = []): Cause[] =>
  causesOf(field, text, before, cidrProblem(text));
