// Parses command-line flags as pflag does, so that argument lists of the Go managers work unchanged: list flags
// accumulate, the last scalar takes precedence, bare booleans are true, underscores are dashes, and unknown flags are
// errors.

import { didYouMean } from "../../core/did-you-mean.ts";
import { type Bounds, type Built, type FieldOptions, integer, quoted } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";

export interface FlagShape {
  /** `switch`: needs no value. `list`: accumulates. `repeated`: accumulates, and its values may contain commas. */
  readonly kind: "value" | "switch" | "list" | "repeated";
  readonly shorthand?: string | undefined;
}

export interface ParsedFlags {
  /** Values by flag name without dashes. A list is joined with commas, a repeated flag with line breaks. */
  readonly raw: Readonly<Record<string, string>>;
  readonly positional: readonly string[];
  readonly problems: readonly Problem[];
}

function error(reason: string, text: string, key: string): Problem {
  return {
    severity: "error",
    reason,
    text,
    key,
  };
}

function hintFor(
  name: string,
  shapes: Readonly<Record<string, FlagShape>>,
  removed: Readonly<Record<string, string>>,
): string {
  if (Object.hasOwn(removed, name)) return removed[name] ?? "";
  const meant = didYouMean(name, Object.keys(shapes));
  return meant === undefined ? "see --help for all flags" : `did you mean --${meant}?`;
}

export function parseFlags(
  args: readonly string[],
  shapes: Readonly<Record<string, FlagShape>>,
  /** The remedy for each flag that upstream removed. */
  removed: Readonly<Record<string, string>> = {},
): ParsedFlags {
  const raw: Record<string, string> = {};
  const positional: string[] = [];
  const problems: Problem[] = [];
  const shorthands = new Map(
    Object.entries(shapes).flatMap(([name, { shorthand }]) =>
      shorthand === undefined ? [] : [[shorthand, name] as const],
    ),
  );

  const set = (name: string, shape: FlagShape, value: string): void => {
    const before = raw[name];
    if (before !== undefined && shape.kind === "list") raw[name] = `${before},${value}`;
    else if (before !== undefined && shape.kind === "repeated") raw[name] = `${before}\n${value}`;
    else {
      if (before !== undefined && before !== value) {
        const text = `--${name} is set more than once; the last value, ${JSON.stringify(value)}, takes precedence`;
        problems.push({ severity: "warning", reason: "RepeatedFlag", text, key: `--${name}` });
      }
      raw[name] = value;
    }
  };

  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    if (arg === "--") {
      positional.push(...args.slice(index + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      positional.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const written = equals === -1 ? arg : arg.slice(0, equals);
    const isLong = written.startsWith("--");
    // `-v2` has its value directly after the letter.
    const attached = isLong ? undefined : shorthands.get(arg.charAt(1));
    if (attached !== undefined && shapes[attached]?.kind === "value" && arg.length > 2 && arg[2] !== "=") {
      set(attached, { kind: "value" }, arg.slice(2));
      continue;
    }
    const bare = isLong ? written.slice(2).replaceAll("_", "-") : written.slice(1);
    const name = isLong ? bare : (shorthands.get(bare) ?? bare);
    const shape = Object.hasOwn(shapes, name) && (isLong || shorthands.has(bare)) ? shapes[name] : undefined;
    if (shape === undefined) {
      problems.push(
        error("UnknownFlag", `unknown flag ${written}; ${hintFor(name, shapes, removed)}`, written),
      );
      continue;
    }
    if (equals !== -1) set(name, shape, arg.slice(equals + 1));
    else if (shape.kind === "switch") set(name, shape, "true");
    else {
      const value = args[index + 1];
      if (value === undefined) problems.push(error("MissingValue", `${written} requires a value`, written));
      else {
        set(name, shape, value);
        index += 1;
      }
    }
  }
  return { raw, positional, problems };
}

const goLiteral = /^([+-]?)(0|0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO]?(_?[0-7])+|[1-9](_?[0-9])*)$/;

/** An integer that pflag reads with base 0, in Go's notations: `0x5`, `1_000`, and `010`, which is 8. `08` is invalid. */
export function goInteger<const O extends FieldOptions<number>>(
  what: string,
  bounds?: Bounds,
  options?: O,
): Built<number, O> {
  const field = integer(what, bounds, options);
  const parse = (raw: string) => {
    const [, sign = "", digits = "no number"] = goLiteral.exec(raw.trim()) ?? [];
    const decimal = Number(digits.replaceAll("_", "").replace(/^0(?=[0-9])/, "0o"));
    const parsed = field.parse(`${sign}${decimal}`);
    return "value" in parsed ? parsed : { wrong: quoted(raw) };
  };
  return { ...field, parse };
}
