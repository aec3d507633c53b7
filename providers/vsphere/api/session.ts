// A session with a vCenter: how it begins and ends, and how requests carry it. It has the view of the inventory that all listings use.

import { type Call, CloudError, type CloudRequest, ifFound, textIn, xml } from "#ccm";
import type { LoginMethod } from "./login.ts";
import { endTagSession, withTagSession } from "./tags-api.ts";
import {
  callMethod,
  type Endpoint,
  type MethodCall,
  membersOf,
  type Reference,
  reference,
  referenceIn,
} from "./vim.ts";

const singleton = (type: string, value = type): Reference => ({ type, value });

/** The same in every vCenter. A host without a vCenter has others. */
export const services = {
  rootFolder: singleton("Folder", "group-d1"),
  propertyCollector: singleton("PropertyCollector", "propertyCollector"),
  viewManager: singleton("ViewManager"),
  sessionManager: singleton("SessionManager"),
  searchIndex: singleton("SearchIndex"),
  authorizationManager: singleton("AuthorizationManager"),
} as const;

/**
 * In the body of a request, where the session has a value: a request is sent again with another session if the first one has ended, and a
 * view belongs to its session.
 */
export const placeholders = { view: "{view}", key: "{session}" } as const;

/** The types in the view. Their subtypes, such as clusters and vApps, are in it too. */
const viewed = ["VirtualMachine", "HostSystem", "ComputeResource", "Folder", "Datacenter", "ResourcePool"];

const cookieName = "vmware_soap_session=";

/** The endpoint with a session, for requests about that session only. */
const withCookie = ({ base, transport }: Endpoint, sessionToken: string): Endpoint => ({
  base,
  transport: (request, call, read) =>
    transport({ ...request, headers: { ...request.headers, cookie: cookieName + sessionToken } }, call, read),
});

const missing = (operation: string, what: string) =>
  new CloudError("unavailable", `${operation} returned no ${what}; check server, and for a proxy.`, {
    operation,
  });

export class Session {
  readonly sessionToken: string;
  /** The vCenter without this session, and what its requests belong to. */
  readonly endpoint: Endpoint;
  readonly call: Call;
  /** A listing or a lookup was completed with it. */
  hasServed = false;
  /** What identifies the session in requests about it. */
  readonly #key: string;
  /** The machines, and what they are in. */
  readonly #view: Reference;
  /** Of a separate session of the REST API. */
  #tagToken: Promise<string | undefined> | undefined;

  private constructor(
    endpoint: Endpoint,
    call: Call,
    { sessionToken, key, view }: { sessionToken: string; key: string; view: Reference },
  ) {
    this.endpoint = endpoint;
    this.call = call;
    this.sessionToken = sessionToken;
    this.#key = key;
    this.#view = view;
  }

  /** Logs in, and creates the view. */
  static async open(endpoint: Endpoint, login: LoginMethod, call: Call): Promise<Session> {
    const begin = { ...login, on: services.sessionManager };
    const { body, headers } = await callMethod(endpoint, begin, call);
    const key = textIn(membersOf(body["returnval"])["key"]);
    const cookie = headers.getSetCookie().find((one) => one.startsWith(cookieName));
    if (key === undefined || cookie === undefined) throw missing(login.method, "session");
    // As the server wrote it, with quotes.
    const [sessionToken = ""] = cookie.slice(cookieName.length).split(";");
    try {
      const create: MethodCall = {
        method: "CreateContainerView",
        on: services.viewManager,
        content: xml`${reference("container", services.rootFolder)}${viewed.map((type) => xml`<type>${type}</type>`)}<recursive>true</recursive>`,
      };
      const created = await callMethod(withCookie(endpoint, sessionToken), create, call);
      const view = referenceIn(created.body["returnval"]);
      if (view === undefined) throw missing(create.method, "view");
      return new Session(endpoint, call, { sessionToken, key, view });
    } catch (error) {
      await logOut(endpoint, sessionToken, call).catch(() => undefined);
      throw error;
    }
  }

  /** Adds the session to a request of the SOAP API. */
  sign(request: CloudRequest): CloudRequest {
    const body = String(request.body)
      .replace(placeholders.view, xml`${this.#view.value}`.text)
      .replace(placeholders.key, this.#key);
    return { ...request, headers: { ...request.headers, cookie: cookieName + this.sessionToken }, body };
  }

  /** Adds the session to a request of the REST API, or a separate one that `open` begins. */
  async signTags(request: CloudRequest, open: () => Promise<string | undefined>): Promise<CloudRequest> {
    this.#tagToken ??= open();
    try {
      return withTagSession(request, (await this.#tagToken) ?? this.sessionToken.replaceAll('"', ""));
    } catch (error) {
      this.#tagToken = undefined;
      throw error;
    }
  }

  /** vCenter has a limit of sessions for each user, and keeps one for half an hour after its last request. */
  async close(call: Call): Promise<void> {
    const tagToken = await this.#tagToken?.catch(() => undefined);
    await Promise.all([
      logOut(this.endpoint, this.sessionToken, call),
      tagToken !== undefined && endTagSession(this.endpoint, tagToken, call),
    ]);
  }
}

/** Without effect if the session has ended. */
async function logOut(endpoint: Endpoint, sessionToken: string, call: Call): Promise<void> {
  const logout: MethodCall = {
    method: "Logout",
    on: services.sessionManager,
    kinds: { NotAuthenticated: "not-found" },
  };
  await ifFound(callMethod(withCookie(endpoint, sessionToken), logout, call));
}
