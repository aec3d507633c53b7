// A request of the SOAP API as the simulated vCenter reads it, and helpers to write its response.

import { readXml, Xml, type XmlValue, xml } from "#ccm";
import { Fault } from "../fault.ts";
import type { Inventory, Ref } from "../state/inventory.ts";
import type { Sessions } from "../state/sessions.ts";

export type Sent = { readonly [name: string]: XmlValue };

/** The inputs of an API method. */
export interface Context {
  readonly inventory: Inventory;
  readonly sessions: Sessions;
  readonly apiVersion: string;
  /** The session key in the request; undefined if it has none. */
  readonly session: string | undefined;
  /** Whether listings or lookups do not show a machine. */
  isHidden(machine: { readonly id: string; readonly name: string }, kind: "listings" | "lookups"): boolean;
  /** Whether to omit a machine from the next page, although the view contains it. */
  takeShortPage(): boolean;
}

/** The content of a response. `cookie` begins a session. */
export interface Returned {
  readonly content: Xml;
  readonly cookie?: string;
}

export type Method = (sent: Sent, context: Context) => Returned;

/** The name of the method, and its parameters. */
export function readRequest(text: string): { readonly method: string; readonly sent: Sent } {
  const { Envelope } = readXml(text, { attributes: true });
  const { Body } = Object(Envelope) as Sent;
  const [method = "", sent] =
    Object.entries(Object(Body) as Sent).find(([name]) => !/^[@#]/.test(name)) ?? [];
  return { method, sent: Object(sent) as Sent };
}

export function textOf(value: XmlValue | undefined): string {
  if (typeof value === "string") return value;
  const { "#text": text } = Object(value) as Sent;
  return typeof text === "string" ? text : "";
}

export const listOf = (value: XmlValue | undefined): readonly XmlValue[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value as XmlValue];

export const membersOf = (value: XmlValue | undefined): Sent => Object(value) as Sent;

export function refOf(value: XmlValue | undefined): Ref {
  const { "@type": type } = membersOf(value);
  return { type: typeof type === "string" ? type : "", value: textOf(value) };
}

export function refXml(name: string, { type, value }: Ref): Xml {
  const tag = new Xml(name);
  return xml`<${tag} type="${type}">${value}</${tag}>`;
}

export const notFound = (ref: Ref): Fault =>
  new Fault(
    "ManagedObjectNotFound",
    "The object has already been deleted or has not been completely created",
    refXml("obj", ref),
  );
