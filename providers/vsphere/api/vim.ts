// The methods of vCenter's SOAP API that the provider calls, and the interpretation of their faults and properties.

import {
  type Call,
  CloudError,
  type CloudErrorKind,
  type CloudTransport,
  type ErrorReport,
  type JsonAnswer,
  jsonApi,
  many,
  soapFaultIn,
  soapFormat,
  textIn,
  Xml,
  type XmlValue,
  xml,
} from "#ccm";

/** A managed object, for example the VirtualMachine `vm-96`. */
export interface Reference {
  readonly type: string;
  readonly value: string;
}

/** A managed object with the requested properties. Unset properties are absent. */
export interface ManagedObject {
  readonly ref: Reference;
  readonly properties: Readonly<Record<string, XmlValue>>;
}

/** An element with members, as `soapFormat` reads it. */
export type Members = { readonly [name: string]: XmlValue };

/** The members of an element; empty if the element is missing or empty. */
export const membersOf = (value: XmlValue | undefined): Members => Object(value) as Members;

export function referenceIn(value: XmlValue | undefined): Reference | undefined {
  const { "@type": type } = membersOf(value);
  const text = textIn(value);
  return typeof type === "string" && text !== undefined ? { type, value: text } : undefined;
}

/** A reference as an element of a request. */
export function reference(name: string, { type, value }: Reference): Xml {
  const tag = new Xml(name);
  return xml`<${tag} type="${type}">${value}</${tag}>`;
}

/** The kinds of errors, by the type of a fault. */
type Kinds = ReadonlyMap<string, CloudErrorKind>;

const commonKinds: Kinds = new Map([
  ["NotAuthenticated", "unauthorized"],
  ["InvalidLogin", "unauthorized"],
  ["NoPermission", "forbidden"],
]);

/** The meaning of a missing object, by its type. A view ends with its session. */
const kindsOfMissing: Kinds = new Map([
  ["ContainerView", "unauthorized"],
  ["VirtualMachine", "not-found"],
  ["Datacenter", "not-found"],
]);

const readError =
  (kinds: Kinds) =>
  (body: unknown): ErrorReport | undefined => {
    const fault = soapFaultIn(body);
    if (fault === undefined) return undefined;
    const { type = "", text, detail } = fault;
    const object = referenceIn(membersOf(detail)["obj"])?.type ?? "";
    const kind =
      type === "ManagedObjectNotFound"
        ? kindsOfMissing.get(object)
        : (kinds.get(type) ?? commonKinds.get(type));
    return { message: `${text.trim() || "no message"} [${type}]`, code: type, kind };
  };

/**
 * Without a session, RetrievePropertiesEx of vcsim succeeds and reports each property as missing. The check is inside the
 * transport, so that the request is repeated with a new session.
 */
const checkingSession =
  (transport: CloudTransport, operation: string): CloudTransport =>
  (request, call, read) =>
    transport(request, call, async (response) => {
      const answer = await read(response);
      const { body } = answer as JsonAnswer<Members>;
      const { returnval } = membersOf(body[`${operation}Response`]);
      const [object] = many(membersOf(returnval)["objects"]);
      const [missing] = many(membersOf(object)["missingSet"]);
      const fault = membersOf(membersOf(membersOf(missing)["fault"])["fault"]);
      if (fault["@xsi:type"] === "NotAuthenticated")
        throw new CloudError("unauthorized", "The session has ended [NotAuthenticated]", { operation });
      return answer;
    });

/** The oldest vCenter whose methods are used. Without a version, vCenter responds as its first release did. */
const apiVersion = "urn:vim25/6.5";

/** A vCenter, and the means to send requests to it. */
export interface Endpoint {
  /** The URL without a path. */
  readonly base: string;
  readonly transport: CloudTransport;
}

export interface MethodCall {
  readonly method: string;
  readonly on: Reference;
  readonly content?: Xml | undefined;
  /** The kinds of errors, if they differ from those of other methods. */
  readonly kinds?: Kinds;
}

/** Calls a method and returns its response. The provider calls no method that changes the inventory. */
export async function callMethod(
  { base, transport }: Endpoint,
  { method, on, content = new Xml(""), kinds = new Map() }: MethodCall,
  call: Call,
): Promise<JsonAnswer<Members>> {
  const tag = new Xml(method);
  const response = `${method}Response`;
  const body = xml`<${tag} xmlns="urn:vim25">${reference("_this", on)}${content}</${tag}>`;
  const checked = checkingSession(transport, method);
  const answer = await jsonApi({
    base,
    transport: checked,
    format: soapFormat,
    readError: readError(kinds),
  }).answer<Members>(
    {
      operation: method,
      method: "POST",
      path: "/sdk",
      headers: { soapaction: `"${apiVersion}"` },
      mutates: false,
      expects: [response],
      body,
    },
    call,
  );
  return { ...answer, body: membersOf(answer.body[response]) };
}

/** The objects in a response of RetrievePropertiesEx. */
export function objectsIn(returned: XmlValue | undefined, operation: string): readonly ManagedObject[] {
  return many(membersOf(returned)["objects"]).map((object) => {
    const { obj, propSet } = membersOf(object);
    const ref = referenceIn(obj);
    if (ref === undefined)
      throw new CloudError("unavailable", `${operation} returned an object without a reference.`, {
        operation,
      });
    const properties = many(propSet).map((one) => {
      const { name, val } = membersOf(one);
      return [textIn(name) ?? "", val ?? null] as const;
    });
    return { ref, properties: Object.fromEntries(properties) };
  });
}

/** The properties to read by type, and the objects to read them of. */
export interface Selection {
  readonly properties: Readonly<Record<string, readonly string[]>>;
  /** The objects; for a view, its content as well. */
  readonly objects: readonly Reference[];
}

export function selectionXml({ properties, objects }: Selection): Xml {
  const sets = Object.entries(properties).map(
    ([type, paths]) =>
      xml`<propSet><type>${type}</type>${paths.map((path) => xml`<pathSet>${path}</pathSet>`)}</propSet>`,
  );
  const content = xml`<selectSet xsi:type="TraversalSpec"><type>ContainerView</type><path>view</path><skip>false</skip></selectSet>`;
  const selected = objects.map(
    (one) =>
      xml`<objectSet>${reference("obj", one)}<skip>false</skip>${one.type === "ContainerView" ? content : []}</objectSet>`,
  );
  return xml`<specSet>${sets}${selected}</specSet>`;
}
