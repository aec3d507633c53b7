// Values in the spelling that the Go manager accepts: choices in any case, durations also as seconds, empty texts.

import {
  type Cidr,
  type Field,
  type FieldOptions,
  type Milliseconds,
  parseCidr,
  parseDuration,
  parseIp,
  seconds,
} from "#ccm";

/** The same field, in upper or lower case. */
export function anyCase<F extends Field<unknown>>(field: F): F {
  return { ...field, parse: (raw: string) => field.parse(raw.trim().toLowerCase()) };
}

/** A string that may be empty: an empty annotation cancels the default of the operator. */
export function textOrEmpty(what: string): Field<string> {
  return { text: what, expects: "a string", parse: (raw) => ({ value: raw.trim() }) };
}

export function cidrText(
  what: string,
  options: Pick<FieldOptions<Cidr>, "env" | "reload"> = {},
): Field<Cidr> {
  const parse = (raw: string) => {
    const value = parseCidr(raw.trim());
    return value === undefined ? { wrong: JSON.stringify(raw.slice(0, 80)) } : { value };
  };
  return { text: what, expects: "a CIDR such as 10.0.0.0/24", parse, ...options };
}

export function ipText(what: string): Field<string> {
  const parse = (raw: string) => {
    const value = parseIp(raw.trim());
    return value === undefined ? { wrong: JSON.stringify(raw.slice(0, 80)) } : { value };
  };
  return { text: what, expects: "an IP address", parse };
}

/** `15s`, or a number of seconds. */
export function durationOrSeconds(
  what: string,
  { min, max }: { readonly min?: Milliseconds; readonly max?: Milliseconds } = {},
): Field<Milliseconds> {
  const limits = min === undefined || max === undefined ? "" : ` from ${min / 1000}s to ${max / 1000}s`;
  const parse = (raw: string) => {
    const text = raw.trim();
    const value = /^\d+$/.test(text) ? seconds(Number(text)) : parseDuration(text);
    const isAllowed = value !== undefined && value >= (min ?? 0) && value <= (max ?? Infinity);
    return isAllowed ? { value } : { wrong: JSON.stringify(raw.slice(0, 80)) };
  };
  return { text: what, expects: `a duration such as 15s${limits}`, kind: "duration", parse };
}
