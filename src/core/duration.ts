// Durations as Go writes and reads them, since annotations and flags of all Go managers are written so. Finer than a
// millisecond is rounded; nothing here measures time.

import { type Milliseconds, milliseconds } from "./brand.ts";

const units: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

export function parseDuration(text: string): Milliseconds | undefined {
  if (/^[+-]?0$/.test(text)) return milliseconds(0);
  if (!/^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(amount) * (units.get(unit) ?? 0);
  }
  const rounded = Math.round(text.startsWith("-") ? -total : total) + 0;
  return Number.isSafeInteger(rounded) ? milliseconds(rounded) : undefined;
}

/** The shortest way to write it that `parseDuration` reads back. */
export function formatDuration(duration: Milliseconds): string {
  if (duration === 0) return "0s";
  if (duration < 0) return `-${formatDuration(milliseconds(-duration))}`;
  const parts: string[] = [];
  let rest: number = duration;
  for (const [unit, size] of [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
    ["ms", 1],
  ] as const) {
    const amount = Math.floor(rest / size);
    if (amount > 0) parts.push(`${amount}${unit}`);
    rest -= amount * size;
  }
  return parts.join("") || "0s";
}
