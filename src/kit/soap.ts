// SOAP 1.1 for `jsonApi`: requests are written as envelopes, and the body of a response is read as a plain value.

import type { BodyFormat } from "./json-api.ts";
import { readXml, Xml, type XmlValue, xml } from "./xml.ts";

const envelope = "http://schemas.xmlsoap.org/soap/envelope/";
const instance = "http://www.w3.org/2001/XMLSchema-instance";

/**
 * A request is the content of a body, as `Xml`. Reads the body of an envelope as an object with one member, the
 * response or `Fault`, whose attributes are kept.
 */
export const soapFormat: BodyFormat = {
  name: "SOAP",
  accept: "text/xml",
  contentType: "text/xml; charset=utf-8",
  write: (request) => {
    if (!(request instanceof Xml)) throw new Error("The body of a SOAP request is Xml.");
    return xml`<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="${envelope}" xmlns:xsi="${instance}"><soapenv:Body>${request}</soapenv:Body></soapenv:Envelope>`
      .text;
  },
  parse: (text) => {
    const { Envelope } = readXml(text, { attributes: true });
    const { Body } = Object(Envelope) as { readonly Body?: XmlValue };
    if (typeof Body !== "object" || Body === null) throw new Error("an envelope without a body");
    return Body;
  },
};

/** A server's description of a failed request. `type` is the detail's type, such as `NotAuthenticated`. */
export interface SoapFault {
  readonly text: string;
  readonly type: string | undefined;
  /** The content of the detail. */
  readonly detail: XmlValue | undefined;
}

/** The text of an element, without its attributes. */
export function textIn(value: XmlValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  const { "#text": text } = Object(value) as { readonly "#text"?: XmlValue };
  return typeof text === "string" ? text : undefined;
}

/** The fault in the body of a response; undefined without a fault. */
export function soapFaultIn(body: unknown): SoapFault | undefined {
  const { Fault } = Object(body) as { readonly Fault?: { readonly [name: string]: XmlValue } };
  if (typeof Fault !== "object" || Fault === null) return undefined;
  const [detail] = Object.entries(Object(Fault["detail"]) as { readonly [name: string]: XmlValue }).filter(
    ([name]) => !/^[@#]/.test(name),
  );
  const declared = textIn((Object(detail?.[1]) as { readonly "@xsi:type"?: XmlValue })["@xsi:type"]);
  const type = declared?.replace(/^.*:/, "") ?? detail?.[0]?.replace(/Fault$/, "");
  return { text: textIn(Fault["faultstring"]) ?? "", type, detail: detail?.[1] };
}
