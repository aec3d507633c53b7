// ServiceContent, logins, views, and the objects that the user may read.

import { xml } from "#ccm";
import { Fault } from "../fault.ts";
import { root } from "../state/inventory.ts";
import type { Sessions } from "../state/sessions.ts";
import { listOf, type Method, notFound, type Returned, refOf, refXml, textOf } from "./request.ts";

const services = {
  propertyCollector: { type: "PropertyCollector", value: "propertyCollector" },
  viewManager: { type: "ViewManager", value: "ViewManager" },
  sessionManager: { type: "SessionManager", value: "SessionManager" },
  searchIndex: { type: "SearchIndex", value: "SearchIndex" },
  authorizationManager: { type: "AuthorizationManager", value: "AuthorizationManager" },
};

const serviceContent: Method = (_, { apiVersion }) => ({
  content: xml`<returnval>${refXml("rootFolder", root.ref)}${Object.entries(services).map(([name, ref]) => refXml(name, ref))}<about><name>VMware vCenter Server</name><version>8.0.3</version><apiType>VirtualCenter</apiType><apiVersion>${apiVersion}</apiVersion></about></returnval>`,
});

/** Opens a session, and returns the response to the login. */
function newSession(user: string, sessions: Sessions): Returned {
  const key = sessions.open(user);
  const content = xml`<returnval><key>${key}</key><userName>${user}</userName></returnval>`;
  return { content, cookie: key };
}

const invalidLogin = (): Fault =>
  new Fault("InvalidLogin", "Cannot complete login due to an incorrect user name or password.");

const login: Method = ({ userName, password }, { sessions }) => {
  const user = textOf(userName);
  if (!sessions.accepts(user, textOf(password))) throw invalidLogin();
  return newSession(user, sessions);
};

const clone: Method = ({ cloneTicket }, { sessions }) => {
  const user = sessions.takeTicket(textOf(cloneTicket));
  if (user === undefined) throw invalidLogin();
  return newSession(user, sessions);
};

const logout: Method = (_, { sessions, session }) => {
  if (session !== undefined) sessions.end(session);
  return { content: xml`` };
};

/** A view contains the subtypes of its types as well. */
const subtypes: Readonly<Record<string, string>> = {
  ClusterComputeResource: "ComputeResource",
  VirtualApp: "ResourcePool",
};

const createView: Method = ({ type }, { sessions, session }) => {
  const types = listOf(type).map(textOf);
  const views = session === undefined ? undefined : sessions.use(session)?.views;
  const value = `session[${session}]view-${views?.size ?? 0}`;
  views?.set(value, types);
  return { content: refXml("returnval", { type: "ContainerView", value }) };
};

/** Whether a view or a property set of this type contains the object. */
export const isOfType = (actual: string, wanted: string): boolean =>
  actual === wanted || subtypes[actual] === wanted || wanted === "ManagedEntity";

const hasPrivilege: Method = ({ entity, privId }, { inventory }) => {
  const entities = listOf(entity).map(refOf);
  const missing = entities.find((one) => !inventory.has(one));
  if (missing !== undefined) throw notFound(missing);
  return {
    content: xml`${entities.map(
      (one) =>
        xml`<returnval>${refXml("entity", one)}${listOf(privId).map(
          (privilege) =>
            xml`<privAvailability><privId>${textOf(privilege)}</privId><isGranted>${inventory.isVisible(one)}</isGranted></privAvailability>`,
        )}</returnval>`,
    )}`,
  };
};

export const sessionMethods: Readonly<Record<string, Method>> = {
  RetrieveServiceContent: serviceContent,
  Login: login,
  CloneSession: clone,
  Logout: logout,
  CreateContainerView: createView,
  HasPrivilegeOnEntities: hasPrivilege,
};
