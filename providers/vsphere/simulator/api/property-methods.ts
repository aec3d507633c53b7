// The property collector and the search index.

import { type Xml, xml } from "#ccm";
import { Fault } from "../fault.ts";
import type { Machine, Place, Ref } from "../state/inventory.ts";
import {
  type Context,
  listOf,
  type Method,
  membersOf,
  notFound,
  refOf,
  refXml,
  type Sent,
  textOf,
} from "./request.ts";
import { isOfType } from "./session-methods.ts";

const schema = "http://www.w3.org/2001/XMLSchema";

const typed = (type: string, content: Xml): Xml => xml`<val xsi:type="${type}">${content}</val>`;
const text = (value: string): Xml => typed("xsd:string", xml`${value}`);
const refValue = ({ type, value }: Ref): Xml =>
  xml`<val type="${type}" xsi:type="ManagedObjectReference">${value}</val>`;

const nicXml = ({ network, deviceConfigId, addresses }: Machine["nics"][number]): Xml =>
  xml`<GuestNicInfo><network>${network}</network>${addresses.map((one) => xml`<ipAddress>${one}</ipAddress>`)}<connected>true</connected><deviceConfigId>${deviceConfigId}</deviceConfigId></GuestNicInfo>`;

/** A machine's property values; undefined for unset properties. */
function machineProperty(machine: Machine, path: string): Xml | undefined {
  const { uuid, hostName, nics, extraConfig } = machine;
  const option = /^config\.extraConfig\["(.+)"\]$/.exec(path)?.[1];
  if (option !== undefined) {
    const value = extraConfig[option];
    if (value === undefined) return undefined;
    return typed("OptionValue", xml`<key>${option}</key><value xsi:type="xsd:string">${value}</value>`);
  }
  const values: Readonly<Record<string, () => Xml | undefined>> = {
    name: () => text(machine.name),
    parent: () => refValue(machine.parent),
    parentVApp: () => undefined,
    resourcePool: () => refValue(machine.pool),
    "runtime.host": () => refValue(machine.host),
    "runtime.powerState": () => typed("VirtualMachinePowerState", xml`${machine.power}`),
    "runtime.connectionState": () => typed("VirtualMachineConnectionState", xml`${machine.connection}`),
    "guest.hostName": () => (hostName === "" ? undefined : text(hostName)),
    "guest.net": () => typed("ArrayOfGuestNicInfo", xml`${nics.map(nicXml)}`),
    "summary.config.uuid": () => (uuid === undefined ? undefined : text(uuid)),
    "summary.config.template": () => typed("xsd:boolean", xml`${machine.isTemplate}`),
    "summary.config.guestId": () => text(machine.guestID),
    "summary.config.numCpu": () => typed("xsd:int", xml`${machine.cpus}`),
    "summary.config.memorySizeMB": () => typed("xsd:int", xml`${machine.memoryMB}`),
  };
  const read = values[path];
  if (read === undefined) throw new Fault("InvalidProperty", "", xml`<name>${path}</name>`);
  return read();
}

function placeProperty({ name, parent }: Place, path: string): Xml | undefined {
  if (path === "name") return text(name);
  if (path === "parent") return parent && refValue(parent);
  throw new Fault("InvalidProperty", "", xml`<name>${path}</name>`);
}

/** The objects that the view shows to the user, and the objects in its property. */
function viewContent(types: readonly string[], { inventory, isHidden }: Context): readonly Ref[] {
  const machines = inventory
    .machines()
    .filter(({ ref, name }) => !isHidden({ id: ref.value, name }, "listings"));
  // The root folder is the container of the view, so it is not in the view.
  const places = [...inventory.places.values()].filter(({ parent }) => parent !== undefined);
  return [...machines, ...places]
    .map(({ ref }) => ref)
    .filter((ref) => types.some((type) => isOfType(ref.type, type)) && inventory.isVisible(ref));
}

interface Selected {
  readonly ref: Ref;
  readonly view?: readonly Ref[];
}

function viewTypes({ value }: Ref, { sessions, session }: Context): readonly string[] | undefined {
  return session === undefined ? undefined : sessions.use(session)?.views.get(value);
}

/** The objects of a filter, without their properties. */
function select(sent: Sent, context: Context): readonly Selected[] {
  return listOf(sent["objectSet"]).flatMap((set): readonly Selected[] => {
    const { obj, selectSet, skip } = membersOf(set);
    const ref = refOf(obj);
    const own = textOf(skip) === "true" ? [] : [{ ref }];
    if (ref.type === "ServiceInstance") return own;
    if (ref.type !== "ContainerView") {
      if (!context.inventory.has(ref) || !context.inventory.isVisible(ref)) throw notFound(ref);
      return own;
    }
    const types = viewTypes(ref, context);
    if (types === undefined) throw notFound(ref);
    const view = viewContent(types, context);
    return [
      ...own.map((one) => ({ ...one, view })),
      ...(selectSet === undefined ? [] : view.map((one) => ({ ref: one }))),
    ];
  });
}

function propertyOf(
  { ref, view }: Selected,
  path: string,
  { inventory, apiVersion }: Context,
): Xml | undefined {
  if (ref.type === "ServiceInstance" && path === "content.about.apiVersion") return text(apiVersion);
  if (ref.type === "ContainerView")
    return typed(
      "ArrayOfManagedObjectReference",
      xml`${(view ?? []).map((one) => refXml("ManagedObjectReference", one))}`,
    );
  const machine = inventory.withRef(ref.value);
  const place = inventory.places.get(ref.value);
  return machine !== undefined ? machineProperty(machine, path) : place && placeProperty(place, path);
}

/** The object with its properties; undefined if no set has its type. */
function objectXml(selected: Selected, sent: Sent, context: Context): Xml | undefined {
  const sets = listOf(sent["propSet"])
    .map(membersOf)
    .filter(({ type }) => isOfType(selected.ref.type, textOf(type)));
  if (sets.length === 0) return undefined;
  const paths = sets.flatMap(({ pathSet }) => listOf(pathSet).map(textOf));
  const properties = [...new Set(paths)].flatMap((path) => {
    const value = propertyOf(selected, path, context);
    return value === undefined ? [] : [xml`<propSet><name>${path}</name>${value}</propSet>`];
  });
  return xml`<objects>${refXml("obj", selected.ref)}${properties}</objects>`;
}

/** Pages that were not fetched yet, by token. */
export class Pages {
  readonly #waiting = new Map<string, { readonly objects: readonly Xml[]; readonly size: number }>();
  #last = 0;

  readonly retrieve: Method = ({ specSet, options }, context) => {
    const sent = membersOf(specSet);
    const objects = select(sent, context).flatMap((one) => objectXml(one, sent, context) ?? []);
    const size = Number(textOf(membersOf(options)["maxObjects"])) || objects.length || 1;
    // A page without one of its machines.
    return this.#page(context.takeShortPage() ? objects.slice(0, -1) : objects, size);
  };

  readonly next: Method = ({ token }) => {
    const page = this.#waiting.get(textOf(token));
    if (page === undefined)
      throw new Fault("InvalidArgument", "", xml`<invalidProperty>token</invalidProperty>`);
    this.#waiting.delete(textOf(token));
    return this.#page(page.objects, page.size);
  };

  #page(objects: readonly Xml[], size: number) {
    const rest = objects.slice(size);
    let token = xml``;
    if (rest.length > 0) {
      this.#last += 1;
      this.#waiting.set(String(this.#last), { objects: rest, size });
      token = xml`<token>${this.#last}</token>`;
    }
    return { content: xml`<returnval xmlns:xsd="${schema}">${token}${objects.slice(0, size)}</returnval>` };
  }
}

const search =
  (matches: (machine: Machine, sent: Sent) => boolean): Method =>
  (sent, { inventory, isHidden }) => ({
    content: xml`${inventory
      .machines()
      .filter((one) => matches(one, sent) && inventory.isVisible(one.ref))
      .filter(({ ref, name }) => !isHidden({ id: ref.value, name }, "lookups"))
      .map(({ ref }) => refXml("returnval", ref))}`,
  });

export const searchMethods: Readonly<Record<string, Method>> = {
  FindAllByUuid: search(({ uuid: own }, { uuid }) => own !== undefined && own === textOf(uuid).toLowerCase()),
  FindAllByDnsName: search(
    ({ hostName }, { dnsName }) => hostName.toLowerCase() === textOf(dnsName).toLowerCase(),
  ),
};
