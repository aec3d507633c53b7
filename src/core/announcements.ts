// Reads announcements from response headers: a deprecated operation (RFC 9745), its end (RFC 8594),
// and warnings for clients (299). Servers may send anything, so sizes are limited. Pure.

/**
 * `operation`: deprecated or ending. `warning`: the server warns about a request. `type`, `image`:
 * a deprecated item is in use. `value`: a field has a value that this version does not know.
 */
export type AnnouncedKind = "operation" | "warning" | "type" | "image" | "value";

/** A deprecation or warning that a server announces. */
export interface Announcement {
  readonly what: AnnouncedKind;
  /** The operation, the field, or the name of the deprecated item, such as `server type cx11`. */
  readonly name: string;
  /** The server's text about the item, such as `unavailable after 2027-01-01`; or the value. */
  readonly text: string;
}

const maxHeader = 4096;
const maxWarnings = 3;
/** The last day of the year 9999. */
const lastDay = Date.UTC(9999, 11, 31);

/** A date such as `@1767225600`, or in the usual header form. */
function dayOf(text: string): string | undefined {
  const seconds = /^@(-?\d{1,12})$/.exec(text)?.[1];
  const at = seconds === undefined ? Date.parse(text.slice(0, 64)) : Number(seconds) * 1000;
  return at >= 0 && at <= lastDay ? new Date(at).toISOString().slice(0, 10) : undefined;
}

/** Before the RFC, servers sent `true`. */
function deprecationIn(header: string): string | undefined {
  const text = header.trim();
  if (text === "" || text === "false" || text === "?0") return undefined;
  const day = dayOf(text);
  return day === undefined ? "deprecated" : `deprecated since ${day}`;
}

function endIn(header: string): string | undefined {
  const day = dayOf(header.trim());
  return day && `unavailable after ${day}`;
}

/** Splits the header, because several headers are joined with commas. */
function warningsIn(header: string): readonly string[] {
  const found = header.slice(0, maxHeader).matchAll(/(?:^|,)\s*299 \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...found.map(([, quoted = ""]) => quoted.replaceAll(/\\(.)/g, "$1")).take(maxWarnings)];
}

const none: readonly Announcement[] = [];

/** The announcements in a response to this operation; usually none. */
export function announcedIn(headers: Pick<Headers, "get">, operation: string): readonly Announcement[] {
  const [deprecation, sunset, warning] = [
    headers.get("deprecation"),
    headers.get("sunset"),
    headers.get("warning"),
  ];
  if (deprecation === null && sunset === null && warning === null) return none;
  const ends = [deprecationIn(deprecation ?? ""), endIn(sunset ?? "")].filter((text) => text !== undefined);
  const warnings = warningsIn(warning ?? "");
  return [
    ...(ends.length > 0 ? [{ what: "operation", name: operation, text: ends.join(", ") } as const] : []),
    ...(warnings.length > 0
      ? [{ what: "warning", name: operation, text: warnings.join("; ") } as const]
      : []),
  ];
}
