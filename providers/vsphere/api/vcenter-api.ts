// A vCenter as the provider uses it: its session, inventory pages, lookups, and the user's privileges.

import {
  type Call,
  CloudError,
  type CloudTransport,
  type Context,
  collect,
  many,
  type OpenAccount,
  pagesByCursor,
  type TlsMaterial,
  textIn,
  Xml,
  xml,
} from "#ccm";
import {
  closeSession,
  cookieOf,
  type LoginMethod,
  openSession,
  type Services,
  type VimSession,
} from "./session.ts";
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

/** A vCenter may return fewer objects. */
const pageSize = 500;

const machineProperties = [
  ...(["name", "parent", "parentVApp", "resourcePool", "runtime.host"] as const),
  ...(["runtime.powerState", "runtime.connectionState", "guest.hostName", "guest.net"] as const),
  ...(["summary.config.uuid", "summary.config.template", "summary.config.guestId"] as const),
  ...(["summary.config.numCpu", "summary.config.memorySizeMB"] as const),
  ...(["guestinfo.metadata", "guestinfo.metadata.encoding"] as const).map(
    (key) => `config.extraConfig["${key}"]`,
  ),
];

/** What machines are in. */
const placeProperties = Object.fromEntries(
  ["HostSystem", "ComputeResource", "Folder", "Datacenter", "ResourcePool"].map((type) => [
    type,
    ["name", "parent"],
  ]),
);

/** How to reach a vCenter. */
export interface VCenterAccess {
  readonly name: string;
  /** Its URL, without a path. */
  readonly base: string;
  readonly tls: TlsMaterial | undefined;
  /** Calls `open` with how to log in now: credentials may change while the process runs. `unsigned` sends requests to any server. */
  logIn(
    unsigned: CloudTransport,
    call: Call,
    open: (method: LoginMethod) => Promise<VimSession>,
  ): Promise<VimSession>;
}

/**
 * A placeholder in a request body for the session: a request is repeated in a new session after the first one has ended, and a view
 * belongs to its session.
 */
const placeholders = { view: "{view}", key: "{session}" } as const;
const view: Reference = { type: "ContainerView", value: placeholders.view };

/** The property by which machines are found. */
export type FoundBy = "uuid" | "name";

export class VCenterApi {
  readonly name: string;
  readonly #base: string;
  readonly #account: OpenAccount<VimSession>;
  /** The open session, and the transport without a session. */
  #open: { readonly session: VimSession; readonly plain: CloudTransport } | undefined;

  constructor({ name, base, tls, logIn }: VCenterAccess, account: Context["account"]) {
    this.name = name;
    this.#base = base;
    this.#account = account<VimSession>({
      name,
      fetch: async (unsigned, call) => {
        const plain: CloudTransport = (request, each, read) => unsigned({ ...request, tls }, each, read);
        const session = await logIn(unsigned, call, (method) => openSession(base, plain, method, call));
        this.#open = { session, plain };
        return { value: session };
      },
      sign: (request, { sessionToken, view: own, key }) => ({
        ...request,
        tls,
        headers: { ...request.headers, cookie: cookieOf(sessionToken) },
        body: String(request.body)
          .replace(placeholders.view, xml`${own.value}`.text)
          .replace(placeholders.key, key),
      }),
    });
  }

  /** The machines and their containers, page by page. Throws if an object of the view is in no page. */
  async *inventory(call: Call): AsyncGenerator<readonly ManagedObject[], void, undefined> {
    const properties = { ContainerView: ["view"], VirtualMachine: machineProperties, ...placeProperties };
    let total: number | undefined;
    const operation = "RetrievePropertiesEx";
    const pages = pagesByCursor<ManagedObject>({ operation }, async (token) => {
      const page = await this.#page({ properties, objects: [view], areViews: true }, token, call);
      const own = page.objects.find(({ ref }) => ref.type === "ContainerView");
      // The view itself is an object, too.
      if (own !== undefined)
        total = 1 + many(membersOf(own.properties["view"])["ManagedObjectReference"]).length;
      if (page.next === undefined && total === undefined)
        throw new CloudError("unavailable", `${operation} returned no view; check for a proxy.`, {
          operation,
        });
      return { items: page.objects, total, next: page.next };
    });
    for await (const page of pages) yield page.filter(({ ref }) => ref.type !== "ContainerView");
  }

  /** The containers of machines, without the machines. */
  places(call: Call): Promise<readonly ManagedObject[]> {
    return this.#all({ properties: placeProperties, objects: [view], areViews: true }, call);
  }

  /** The machines with this BIOS UUID, or with this host name. */
  async find(by: FoundBy, value: string, call: Call): Promise<readonly Reference[]> {
    const [method, tag] = by === "uuid" ? ["FindAllByUuid", "uuid"] : ["FindAllByDnsName", "dnsName"];
    const name = new Xml(tag);
    const content = xml`<${name}>${value}</${name}><vmSearch>true</vmSearch>`;
    const { returnval } = await this.#call("searchIndex", { method, content }, call);
    return many(returnval).flatMap((one) => referenceIn(one) ?? []);
  }

  /** These machines. A machine that was removed in the meantime is an error. */
  async machines(objects: readonly Reference[], call: Call): Promise<readonly ManagedObject[]> {
    if (objects.length === 0) return [];
    return this.#all({ properties: { VirtualMachine: machineProperties }, objects }, call);
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

  /** Ends the session. */
  async close(call: Call): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) await closeSession(this.#base, open.plain, open.session, call);
  }

  async #all(selection: Selection, call: Call): Promise<readonly ManagedObject[]> {
    const pages = pagesByCursor<ManagedObject>({ operation: "RetrievePropertiesEx" }, async (token) => {
      const { objects, next } = await this.#page(selection, token, call);
      return { items: objects, next };
    });
    return collect(pages);
  }

  async #page(
    selection: Selection,
    token: string | undefined,
    call: Call,
  ): Promise<{ readonly objects: readonly ManagedObject[]; readonly next: string | undefined }> {
    const method = token === undefined ? "RetrievePropertiesEx" : "ContinueRetrievePropertiesEx";
    const content =
      token === undefined
        ? xml`${selectionXml(selection)}<options><maxObjects>${pageSize}</maxObjects></options>`
        : xml`<token>${token}</token>`;
    const { returnval } = await this.#call("propertyCollector", { method, content }, call);
    return { objects: objectsIn(returnval, method), next: textIn(membersOf(returnval)["token"]) };
  }

  async #call(
    service: keyof Services,
    { method, content }: Omit<MethodCall, "on">,
    call: Call,
  ): Promise<Members> {
    const { services } = await this.#account.credential(call);
    const { transport } = this.#account;
    return (await callMethod(this.#base, transport, { method, on: services[service], content }, call)).body;
  }
}
