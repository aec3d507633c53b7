// A vCenter as the provider uses it: its session, inventory pages, lookups, and the user's privileges.

import { type Call, CloudError, collect, many, pagesByCursor, textIn, Xml, xml } from "#ccm";
import type { Connection } from "./connection.ts";
import { placeholders, services } from "./session.ts";
import {
  callMethod,
  type ManagedObject,
  type Members,
  type MethodCall,
  membersOf,
  objectsIn,
  type Reference,
  reference,
  referenceIn,
  type Selection,
  selectionXml,
} from "./vim.ts";

/**
 * Each page is a request. 1,000 machines with five interfaces each are 4 MB, which take 80 ms to read
 * without other work in between. A vCenter may return fewer objects.
 */
const pageSize = 1200;

const machineProperties = [
  ...(["name", "parent", "parentVApp", "resourcePool", "runtime.host"] as const),
  ...(["runtime.powerState", "runtime.connectionState", "guest.hostName", "guest.net"] as const),
  ...(["summary.config.uuid", "summary.config.template", "summary.config.guestId"] as const),
  ...(["summary.config.numCpu", "summary.config.memorySizeMB"] as const),
  ...(["guestinfo.metadata", "guestinfo.metadata.encoding"] as const).map(
    (key) => `config.extraConfig["${key}"]`,
  ),
];

/** The properties of the objects that contain machines. */
const placeProperties = Object.fromEntries(
  ["HostSystem", "ComputeResource", "Folder", "Datacenter", "ResourcePool"].map((type) => [
    type,
    ["name", "parent"],
  ]),
);

const view: Reference = { type: "ContainerView", value: placeholders.view };
/** Read with the machines, because it decides which session a request about tags needs. */
const version: Reference = { type: "ServiceInstance", value: "ServiceInstance" };
const versionProperty = "content.about.apiVersion";
const operation = "RetrievePropertiesEx";

/** Whether the REST API accepts sessions of the SOAP API: since vSphere 8.0 Update 3. */
function sharesSessions(apiVersion = ""): boolean {
  const [major = 0, minor = 0, update = 0] = apiVersion.split(".").map(Number);
  return major > 8 || (major === 8 && (minor > 0 || update >= 3));
}

/** The property by which machines are found. */
export type FoundBy = "uuid" | "name";

export class VCenterApi {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The machines and their containers, page by page. Throws if an object of the view is in no page. */
  inventory(call: Call): AsyncGenerator<readonly ManagedObject[], void, undefined> {
    const properties = { [view.type]: ["view"], VirtualMachine: machineProperties, ...placeProperties };
    return this.#inView(properties, call);
  }

  /** The containers of machines, without the machines. */
  places(call: Call): Promise<readonly ManagedObject[]> {
    return collect(this.#inView(placeProperties, call));
  }

  /** The machines with this BIOS UUID, or with this host name. */
  async find(by: FoundBy, value: string, call: Call): Promise<readonly Reference[]> {
    const [method, tag] = by === "uuid" ? ["FindAllByUuid", "uuid"] : ["FindAllByDnsName", "dnsName"];
    const name = new Xml(tag);
    const content = xml`<${name}>${value}</${name}><vmSearch>true</vmSearch>`;
    const { returnval } = await this.#call("searchIndex", { method, content }, call);
    return many(returnval).flatMap((one) => referenceIn(one) ?? []);
  }

  /** Reads these machines. A machine that was removed in the meantime is an error. */
  async machines(objects: readonly Reference[], call: Call): Promise<readonly ManagedObject[]> {
    if (objects.length === 0) return [];
    const selection = { properties: { VirtualMachine: machineProperties }, objects };
    return collect(pagesByCursor({ operation }, (token) => this.#page(selection, token, call)));
  }

  /** Whether the user may read each of these objects. Throws `not-found` if one of them does not exist. */
  async mayRead(objects: readonly Reference[], call: Call): Promise<boolean> {
    const entities = objects.map((one) => reference("entity", one));
    const content = xml`${entities}<sessionId>${placeholders.key}</sessionId><privId>System.Read</privId>`;
    const { returnval } = await this.#call(
      "authorizationManager",
      { method: "HasPrivilegeOnEntities", content },
      call,
    );
    const granted = many(returnval).flatMap((one) =>
      many(membersOf(one)["privAvailability"]).map((each) => textIn(membersOf(each)["isGranted"]) === "true"),
    );
    return granted.length === objects.length && granted.every(Boolean);
  }

  async *#inView(
    properties: Selection["properties"],
    call: Call,
  ): AsyncGenerator<readonly ManagedObject[], void, undefined> {
    const selection = {
      properties: { [version.type]: [versionProperty], ...properties },
      objects: [version, view],
    };
    let total: number | undefined;
    const pages = pagesByCursor<ManagedObject>({ operation }, async (token) => {
      const page = await this.#page(selection, token, call);
      for (const { ref, properties: own } of page.items) {
        if (ref.type === version.type)
          this.#connection.sharesSessions = sharesSessions(textIn(own[versionProperty]));
        // The version and the view are objects as well.
        if (ref.type === view.type) total = 2 + many(membersOf(own["view"])["ManagedObjectReference"]).length;
      }
      if (page.next === undefined && total === undefined && view.type in properties)
        throw new CloudError("unavailable", `${operation} returned no view; check for a proxy.`, {
          operation,
        });
      return { ...page, total };
    });
    for await (const page of pages)
      yield page.filter(({ ref }) => ref.type !== version.type && ref.type !== view.type);
  }

  async #page(selection: Selection, token: string | undefined, call: Call) {
    const method = token === undefined ? operation : "ContinueRetrievePropertiesEx";
    const content =
      token === undefined
        ? xml`${selectionXml(selection)}<options><maxObjects>${pageSize}</maxObjects></options>`
        : xml`<token>${token}</token>`;
    const { returnval } = await this.#call("propertyCollector", { method, content }, call);
    return { items: objectsIn(returnval, method), next: textIn(membersOf(returnval)["token"]) };
  }

  async #call(service: keyof typeof services, method: Omit<MethodCall, "on">, call: Call): Promise<Members> {
    const { endpoint } = this.#connection;
    return (await callMethod(endpoint, { ...method, on: services[service] }, call)).body;
  }
}
