// How AWS's APIs write requests and responses: forms, and XML with lists of items or members.

/** A parameter as it was sent: text, a list, or a record. */
export type Sent = string | readonly Sent[] | { readonly [name: string]: Sent };

/** The parameters of a request by name. */
export type SentParameters = Readonly<Record<string, Sent>>;

type Branch = { [name: string]: Branch | string };

function add(branch: Branch, [first = "", ...rest]: readonly string[], value: string): void {
  const inner = branch[first];
  if (rest.length === 0) branch[first] = value;
  else if (typeof inner === "object") add(inner, rest, value);
  else {
    const next: Branch = {};
    branch[first] = next;
    add(next, rest, value);
  }
}

/** Converts numbered members to a list. */
function withLists(value: Branch | string): Sent {
  if (typeof value === "string") return value;
  const entries = Object.entries(value).map(([name, one]) => [name, withLists(one)] as const);
  if (entries.length === 0 || !entries.every(([name]) => /^\d+$/.test(name)))
    return Object.fromEntries(entries);
  return entries.toSorted(([one], [other]) => Number(one) - Number(other)).map(([, one]) => one);
}

export function readForm(text: string): SentParameters {
  const root: Branch = {};
  for (const [name, value] of new URLSearchParams(text))
    add(
      root,
      name.split(".").filter((part) => part !== "member"),
      value,
    );
  return withLists(root) as SentParameters;
}

/** The text of a parameter; undefined if it is absent. */
export function textIn(value: Sent | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A list parameter's entries. */
export function listIn(value: Sent | undefined): readonly Sent[] {
  return Array.isArray(value) ? value : [];
}

export function textsIn(value: Sent | undefined): readonly string[] {
  return listIn(value).flatMap((one) => textIn(one) ?? []);
}

export function recordIn(value: Sent | undefined): SentParameters {
  return typeof value === "object" && !Array.isArray(value) ? (value as SentParameters) : {};
}

/** Reads `Key` and `Value` of the entries. */
export function tagsIn(value: Sent | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listIn(value).map((one) => {
      const { Key, Value } = recordIn(one);
      return [textIn(Key) ?? "", textIn(Value) ?? ""];
    }),
  );
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A value as XML. List entries are elements with the name `entry`; undefined is omitted. */
export function writeXml(value: unknown, entry: string): string {
  if (Array.isArray(value))
    return value.map((one) => `<${entry}>${writeXml(one, entry)}</${entry}>`).join("");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([name, one]) => (one === undefined ? "" : `<${name}>${writeXml(one, entry)}</${name}>`))
      .join("");
  return String(value ?? "").replaceAll(/[&<>"]/g, (char) => escapes[char] ?? char);
}
