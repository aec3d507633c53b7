// A session with a vCenter: how it begins and ends. It has the view of the inventory that all listings use.

import { type Call, CloudError, type CloudTransport, textIn, type Xml, xml } from "#ccm";
import { callMethod, type Members, membersOf, type Reference, reference, referenceIn } from "./vim.ts";

const services = [
  "rootFolder",
  "propertyCollector",
  "viewManager",
  "sessionManager",
  "searchIndex",
  "authorizationManager",
] as const;
/** The services of a vCenter, by their names in its ServiceContent. */
export type Services = Readonly<Record<(typeof services)[number], Reference>>;

export interface Login {
  readonly services: Services;
  /** Identifies the session in requests about it. */
  readonly key: string;
  readonly sessionToken: string;
}

export interface VimSession extends Login {
  /** The machines and their containers. */
  readonly view: Reference;
}

/** How to log in: the method of the SessionManager, and its parameters. */
export interface LoginMethod {
  readonly method: "Login" | "CloneSession";
  readonly content: Xml;
}

/** The types in the view. Their subtypes, such as clusters and vApps, are in it too. */
const viewed = ["VirtualMachine", "HostSystem", "ComputeResource", "Folder", "Datacenter", "ResourcePool"];

function servicesIn({ returnval }: Members, operation: string): Services {
  const content = membersOf(returnval);
  const entries = services.map((name) => {
    const found = referenceIn(content[name]);
    if (found === undefined)
      throw new CloudError(
        "unavailable",
        `${operation} returned no ${name}; check server, and for a proxy.`,
        {
          operation,
        },
      );
    return [name, found] as const;
  });
  return Object.fromEntries(entries) as Services;
}

const cookieName = "vmware_soap_session=";

/** The cookie of a session. */
export const cookieOf = (sessionToken: string): string => cookieName + sessionToken;

/** The value of the cookie, as the server wrote it. */
function tokenIn(headers: Headers): string | undefined {
  const own = headers.getSetCookie().find((one) => one.startsWith(cookieName));
  return own?.slice(cookieName.length).split(";")[0];
}

const serviceInstance = { type: "ServiceInstance", value: "ServiceInstance" };

/** `transport` adds no session. */
export async function logIn(
  base: string,
  transport: CloudTransport,
  login: LoginMethod,
  call: Call,
): Promise<Login> {
  const content = await callMethod(
    base,
    transport,
    { method: "RetrieveServiceContent", on: serviceInstance },
    call,
  );
  const found = servicesIn(content.body, "RetrieveServiceContent");
  const first = tokenIn(content.headers);
  const { body, headers } = await callMethod(
    base,
    withSession(transport, first),
    { ...login, on: found.sessionManager },
    call,
  );
  const key = textIn(membersOf(body["returnval"])["key"]);
  const sessionToken = tokenIn(headers) ?? first;
  if (key === undefined || sessionToken === undefined) {
    const { method } = login;
    throw new CloudError("unavailable", `${method} returned no session; check server, and for a proxy.`, {
      operation: method,
    });
  }
  return { services: found, key, sessionToken };
}

/** Logs in, and creates the view. `transport` adds no session. */
export async function openSession(
  base: string,
  transport: CloudTransport,
  login: LoginMethod,
  call: Call,
): Promise<VimSession> {
  const session = await logIn(base, transport, login, call);
  const { rootFolder, viewManager } = session.services;
  try {
    const created = await callMethod(
      base,
      withSession(transport, session.sessionToken),
      {
        method: "CreateContainerView",
        on: viewManager,
        content: xml`${reference("container", rootFolder)}${viewed.map((type) => xml`<type>${type}</type>`)}<recursive>true</recursive>`,
      },
      call,
    );
    const view = referenceIn(created.body["returnval"]);
    if (view === undefined)
      throw new CloudError("unavailable", "CreateContainerView returned no view; check for a proxy.", {
        operation: "CreateContainerView",
      });
    return { ...session, view };
  } catch (error) {
    await closeSession(base, transport, session, call).catch(() => undefined);
    throw error;
  }
}

/** Logs out. vCenter has a limit of sessions for each user, and keeps one for half an hour after its last request. */
export async function closeSession(
  base: string,
  transport: CloudTransport,
  { services: { sessionManager }, sessionToken }: Login,
  call: Call,
): Promise<void> {
  await callMethod(
    base,
    withSession(transport, sessionToken),
    { method: "Logout", on: sessionManager },
    call,
  );
}

/** Adds the session to requests. */
const withSession =
  (transport: CloudTransport, token: string | undefined): CloudTransport =>
  (request, call, read) => {
    const cookie = token === undefined ? {} : { cookie: cookieOf(token) };
    return transport({ ...request, headers: { ...request.headers, ...cookie } }, call, read);
  };
