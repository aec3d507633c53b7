// IPv4 ranges as numbers, for checks and for the allocation of addresses in networks.

import { parseCidr } from "#ccm";

export interface Range {
  readonly first: number;
  readonly last: number;
}

export function ipNumber(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function ipText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}

/** Undefined unless the text is an IPv4 CIDR without host bits. */
export function rangeOf(text: string): Range | undefined {
  if (parseCidr(text) !== text) return undefined;
  const [address = "", bits = ""] = text.split("/");
  const first = ipNumber(address);
  return first === undefined ? undefined : { first, last: first + 2 ** (32 - Number(bits)) - 1 };
}

export function contains(outer: Range, inner: Range): boolean {
  return outer.first <= inner.first && inner.last <= outer.last;
}

export function overlaps(one: Range, other: Range): boolean {
  return one.first <= other.last && other.first <= one.last;
}

const privateRanges = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(rangeOf);

export function isPrivate(range: Range): boolean {
  return privateRanges.some((each) => each !== undefined && contains(each, range));
}
