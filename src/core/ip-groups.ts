// IP addresses as eight groups of sixteen bits (IPv4 as ::ffff:a.b.c.d): parsing, formatting and masking. Only `ip.ts` and
// `cidr.ts` use this file. Pure.

/**
 * `strict` rejects leading zeros in IPv4. `sloppy` accepts the same texts as Go's ParseIPSloppy, which Kubernetes uses for
 * old objects: leading zeros are read as decimal. Both reject spaces and zones.
 */
export type IpForm = "strict" | "sloppy";

export type Groups = readonly number[];

const mappedPrefix = [0, 0, 0, 0, 0, 0xffff];

export function isIPv4(groups: Groups): boolean {
  for (let index = 0; index < 5; index++) if (groups[index] !== 0) return false;
  return groups[5] === 0xffff;
}

function parseIPv4(text: string, form: IpForm): readonly [number, number] | undefined {
  // Parses character by character, because a Service may have thousands of ranges.
  let [dots, octet, digits, upper, lower] = [0, 0, 0, 0, 0];
  for (let index = 0; index <= text.length; index++) {
    const isEnd = index === text.length;
    const digit = isEnd ? -1 : text.charCodeAt(index) - 48;
    if (digit >= 0 && digit <= 9) {
      if (form === "strict" && digits > 0 && octet === 0) return undefined;
      octet = octet * 10 + digit;
      digits += 1;
      if (octet > 255) return undefined;
    } else {
      if (digits === 0 || (isEnd ? dots !== 3 : text[index] !== "." || dots === 3)) return undefined;
      if (dots < 2) upper = upper * 256 + octet;
      else lower = lower * 256 + octet;
      dots += 1;
      octet = 0;
      digits = 0;
    }
  }
  return [upper, lower];
}

function parseSide(text: string, form: IpForm, mayEndInIPv4: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      const tail = mayEndInIPv4 && index === parts.length - 1 ? parseIPv4(part, form) : undefined;
      if (tail === undefined) return undefined;
      groups.push(...tail);
      continue;
    }
    if (!/^[0-9a-f]+$/i.test(part) || (form === "strict" && part.length > 4)) return undefined;
    const group = Number.parseInt(part, 16);
    if (group > 0xffff) return undefined;
    groups.push(group);
  }
  return groups;
}

export function parseGroups(text: string, form: IpForm): Groups | undefined {
  if (!text.includes(":")) {
    const four = parseIPv4(text, form);
    return four === undefined ? undefined : [...mappedPrefix, ...four];
  }
  const gap = text.indexOf("::");
  if (gap === -1) {
    const all = parseSide(text, form, true);
    return all?.length === 8 ? all : undefined;
  }
  const left = parseSide(text.slice(0, gap), form, false);
  const right = parseSide(text.slice(gap + 2), form, true);
  // The gap stands for at least one group of zeros.
  if (left === undefined || right === undefined || left.length + right.length > 7) return undefined;
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

function longestRunOfZeros(groups: Groups): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let index = 0; index <= 8; index++) {
    if (groups[index] === 0) continue;
    if (index - start > best.length) best = { start, length: index - start };
    start = index + 1;
  }
  return best;
}

/** The form of RFC 5952, as in Go: IPv4 and IPv4-mapped addresses have dots. */
export function formatGroups(groups: Groups): string {
  if (isIPv4(groups)) {
    const [, , , , , , upper = 0, lower = 0] = groups;
    return `${upper >> 8}.${upper & 0xff}.${lower >> 8}.${lower & 0xff}`;
  }
  const hex = groups.map((group) => group.toString(16));
  const run = longestRunOfZeros(groups);
  if (run.length < 2) return hex.join(":");
  return `${hex.slice(0, run.start).join(":")}::${hex.slice(run.start + run.length).join(":")}`;
}

export function compareGroups(one: Groups, other: Groups): number {
  for (let index = 0; index < 8; index++) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** Keeps the first `bits` bits and sets the rest to zero. */
export function maskGroups(groups: Groups, bits: number): Groups {
  return groups.map((group, index) => {
    const kept = Math.min(16, Math.max(0, bits - index * 16));
    return group & (0xffff << (16 - kept)) & 0xffff;
  });
}
