// The schema collection: the API's types, the URLs of their collections, and their actions.

import { modifiers } from "./listing.ts";
import { type ResourceType, resourceTypes } from "./resource-types.ts";

type WithCollection<T> = {
  [K in keyof T]: T[K] extends { readonly collection: unknown } ? K : never;
}[keyof T];
export type CollectionType = WithCollection<typeof resourceTypes>;

const types: Readonly<Record<string, ResourceType>> = resourceTypes;

/** The event socket, which has no objects. */
const subscribe: ResourceType = { collection: ["POST"], fields: { eventNames: "array[string]+" } };

const plural = (type: string): string =>
  type === "subscribe" ? type : `${type.replace(/ss$/, "sse").replace(/y$/, "ie")}s`;
export const pluralOf = (type: CollectionType): string => plural(type);

/** The type of a collection by its name in a path, without regard to case. */
export function typeOf(name: string): CollectionType | undefined {
  const all = Object.keys(resourceTypes).filter((type) => types[type]?.collection !== undefined);
  return (all as readonly CollectionType[]).find(
    (type) => pluralOf(type).toLowerCase() === name.toLowerCase(),
  );
}

/** The columns of the server's database. Other fields have no filter, and settings are in no table. */
const columns = new Set([
  ...["agentState", "description", "externalId", "healthState", "id", "kind"],
  ...["name", "removed", "stackId", "state", "uuid"],
]);

export function filterableFields(type: CollectionType): readonly string[] {
  if (type === "setting") return [];
  return Object.keys(types[type]?.fields ?? {}).filter((name) => columns.has(name));
}

export const includesOf = (type: CollectionType): readonly string[] => types[type]?.includes ?? [];
export const canCreate = (type: CollectionType): boolean =>
  types[type]?.collection?.includes("POST") === true;

/** Fields that a client must set to create an object. */
export const requiredFields = (type: CollectionType): readonly string[] =>
  Object.entries<string>(types[type]?.fields ?? {}).flatMap(([name, of]) => (of.endsWith("!") ? [name] : []));

function fieldOf(text: string) {
  const [, type = "string", sets, required] = /^([^+!]+)(\+?)(!?)$/.exec(text) ?? [];
  const [create, update, isRequired] = [sets === "+", sets === "+", required === "!"];
  return { type, create, update, required: isRequired, nullable: !isRequired, default: null };
}

function schemaOf(
  id: string,
  { collection, resource, fields, actions, includes }: ResourceType,
  base: string,
) {
  const self = `${base}/schemas/${id}`;
  const filterable = collection === undefined ? [] : filterableFields(id as CollectionType);
  return {
    id,
    type: "schema",
    baseType: "schema",
    pluralName: plural(id),
    links: collection === undefined ? { self } : { self, collection: `${base}/${plural(id)}` },
    actions: {},
    collectionMethods: collection ?? [],
    resourceMethods: resource ?? [],
    resourceFields: Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, fieldOf(text)])),
    collectionFilters: Object.fromEntries(filterable.map((name) => [name, { modifiers, options: null }])),
    collectionActions: {},
    resourceActions: Object.fromEntries(
      Object.entries(actions ?? {}).map(([name, { input = null, output }]) => [name, { input, output }]),
    ),
    includeableLinks: includes ?? [],
  };
}

/** `base` is the URL of the API, with the project. */
export function schemasOf(base: string) {
  return {
    type: "collection",
    resourceType: "schema",
    links: { self: `${base}/schemas` },
    data: Object.entries({ ...types, subscribe }).map(([id, type]) => schemaOf(id, type, base)),
    actions: {},
  };
}
