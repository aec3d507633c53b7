// The schema collection: the types that the API has, where their collections are, and what can be done with them.

const collections = {
  certificate: ["GET"],
  externalService: ["GET", "POST"],
  host: ["GET"],
  loadBalancerService: ["GET", "POST"],
  project: ["GET"],
  schema: ["GET"],
  setting: ["GET"],
  stack: ["GET", "POST"],
} as const;

export type CollectionType = keyof typeof collections;

export const pluralOf = (type: CollectionType): string => `${type}s`;

/** The type of a collection by its name in a path, in any case. */
export function typeOf(plural: string): CollectionType | undefined {
  const types = Object.keys(collections) as readonly CollectionType[];
  return types.find((type) => pluralOf(type).toLowerCase() === plural.toLowerCase());
}

const text = (isWritable: boolean) => ({
  type: "string",
  create: isWritable,
  update: isWritable,
  nullable: true,
  required: false,
});

const fields: Partial<Record<CollectionType, readonly string[]>> = {
  externalService: ["name", "stackId", "externalIpAddresses", "healthCheck", "metadata", "startOnCreate"],
  loadBalancerService: ["name", "stackId", "scale", "launchConfig", "lbConfig", "metadata", "startOnCreate"],
  stack: ["name", "externalId", "startOnCreate"],
};

/** `base` is the URL of the API, with the project. */
export function schemasOf(base: string) {
  const data = Object.entries(collections).map(([id, methods]) => ({
    id,
    type: "schema",
    pluralName: pluralOf(id as CollectionType),
    links: { self: `${base}/schemas/${id}`, collection: `${base}/${pluralOf(id as CollectionType)}` },
    actions: {},
    collectionMethods: methods,
    resourceMethods: methods.length > 1 ? ["GET", "PUT", "DELETE"] : ["GET"],
    resourceFields: Object.fromEntries([
      ...["id", "state", "name"].map((name) => [name, text(false)]),
      ...(fields[id as CollectionType] ?? []).map((name) => [name, text(true)]),
    ]),
    collectionFilters: {
      name: { modifiers: ["eq", "ne", "prefix", "like", "null", "notnull"], options: null },
    },
    collectionActions: {},
    resourceActions: {},
    includeableLinks: id === "host" ? ["ipAddresses"] : [],
  }));
  return {
    type: "collection",
    resourceType: "schema",
    links: { self: `${base}/schemas` },
    data,
    actions: {},
  };
}
