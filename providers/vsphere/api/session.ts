// A session with a vCenter: how it begins and ends, and how requests carry it. It contains the view
// of the inventory that all listings use.

import { type Call, CloudError, type CloudRequest, ifFound, textIn, xml } from "#ccm";
import type { LoginMethod } from "./login.ts";
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

/** Managed objects that are the same in every vCenter. A host without a vCenter has others. */
export const services = {
  rootFolder: singleton("Folder", "group-d1"),
  propertyCollector: singleton("PropertyCollector", "propertyCollector"),
  viewManager: singleton("ViewManager"),
  sessionManager: singleton("SessionManager"),
  searchIndex: singleton("SearchIndex"),
  authorizationManager: singleton("AuthorizationManager"),
} as const;

export interface Session {
  /** The session key, which identifies the session in requests about it. */
  readonly key: string;
  /** The token as the server wrote it, with quotes. */
  readonly sessionToken: string;
  /** The view with the machines and their containers. */
  readonly view: Reference;
}

/**
 * Placeholders in the body of a request for values of the session: a request is sent again with
 * another session if the first has ended, and a view belongs to its session.
 */
export const placeholders = { view: "{view}", key: "{session}" } as const;

/** The types in the view. It contains their subtypes as well, such as clusters and vApps. */
const viewed = ["VirtualMachine", "HostSystem", "ComputeResource", "Folder", "Datacenter", "ResourcePool"];

const cookieName = "vmware_soap_session=";

const withCookie = (request: CloudRequest, sessionToken: string): CloudRequest => ({
  ...request,
  headers: { ...request.headers, cookie: cookieName + sessionToken },
});

/** Adds the session to a request. */
export function withSession(request: CloudRequest, { sessionToken, view, key }: Session): CloudRequest {
  const body = String(request.body)
    .replace(placeholders.view, xml`${view.value}`.text)
    .replace(placeholders.key, key);
  return { ...withCookie(request, sessionToken), body };
}

/** Sends requests about the session itself. */
const ofSession = ({ base, transport }: Endpoint, sessionToken: string): Endpoint => ({
  base,
  transport: (request, call, read) => transport(withCookie(request, sessionToken), call, read),
});

const missing = (operation: string, what: string) =>
  new CloudError("unavailable", `${operation} returned no ${what}; check server, and for a proxy.`, {
    operation,
  });

/** Logs in, and creates the view. `endpoint` adds no session. */
export async function openSession(endpoint: Endpoint, login: LoginMethod, call: Call): Promise<Session> {
  const begin = { ...login, on: services.sessionManager };
  const { body, headers } = await callMethod(endpoint, begin, call);
  const key = textIn(membersOf(body["returnval"])["key"]);
  const cookie = headers.getSetCookie().find((one) => one.startsWith(cookieName));
  if (key === undefined || cookie === undefined) throw missing(login.method, "session");
  const [sessionToken = ""] = cookie.slice(cookieName.length).split(";");
  try {
    const create: MethodCall = {
      method: "CreateContainerView",
      on: services.viewManager,
      content: xml`${reference("container", services.rootFolder)}${viewed.map((type) => xml`<type>${type}</type>`)}<recursive>true</recursive>`,
    };
    const created = await callMethod(ofSession(endpoint, sessionToken), create, call);
    const view = referenceIn(created.body["returnval"]);
    if (view === undefined) throw missing(create.method, "view");
    return { key, sessionToken, view };
  } catch (error) {
    await logOut(endpoint, { sessionToken }, call).catch(() => undefined);
    throw error;
  }
}

/** Ends the session; has no effect if it has already ended. */
export async function logOut(
  endpoint: Endpoint,
  { sessionToken }: Pick<Session, "sessionToken">,
  call: Call,
): Promise<void> {
  const logout: MethodCall = {
    method: "Logout",
    on: services.sessionManager,
    kinds: new Map([["NotAuthenticated", "not-found"]]),
  };
  await ifFound(callMethod(ofSession(endpoint, sessionToken), logout, call));
}
