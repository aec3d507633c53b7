// The API types as a table: their fields, filters, and actions. Data only.

export interface ResourceType {
  /** The methods that a collection accepts. Without them, the type has no collection: it is part of other objects. */
  readonly collection?: readonly ("GET" | "POST")[];
  readonly resource?: readonly ("GET" | "PUT" | "DELETE")[];
  /** The type of each field, with `!` if it is required, and `+` if clients can set it. */
  readonly fields: Readonly<Record<string, string>>;
  readonly actions?: Readonly<Record<string, { readonly input?: string; readonly output: string }>>;
  readonly includes?: readonly string[];
}

/** The fields of nearly every object with a collection. */
const common = {
  id: "string",
  kind: "string",
  name: "string",
  state: "string",
  uuid: "string",
  removed: "date",
};
const readOnly = { collection: ["GET"], resource: ["GET"] } as const;
const writable = { collection: ["GET", "POST"], resource: ["GET", "PUT", "DELETE"] } as const;
const transition = { transitioning: "enum", transitioningMessage: "string", transitioningProgress: "int" };

const named = { name: "string+!", description: "string+" };
const service = {
  ...common,
  ...transition,
  ...named,
  healthState: "string",
  stackId: "reference[stack]+!",
  scale: "int+",
  metadata: "map[json]+",
  startOnCreate: "boolean+",
};
const onState = {
  activate: { output: "service" },
  deactivate: { output: "service" },
  remove: { output: "service" },
  update: { output: "service" },
};
const onUpgrade = {
  finishupgrade: { output: "service" },
  upgrade: { input: "serviceUpgrade", output: "service" },
};
const setservicelinks = { input: "setServiceLinksInput", output: "service" };

export const resourceTypes = {
  certificate: { ...readOnly, fields: { ...common } },
  externalService: {
    ...writable,
    fields: {
      ...service,
      externalIpAddresses: "array[string]+",
      hostname: "string+",
      healthCheck: "instanceHealthCheck+",
    },
    actions: onState,
  },
  host: {
    collection: ["GET"],
    resource: ["GET", "PUT", "DELETE"],
    fields: {
      ...common,
      ...transition,
      hostname: "string",
      agentState: "string",
      agentIpAddress: "string",
      labels: "map[string]+",
      info: "json",
      milliCpu: "int",
      memory: "int",
      localStorageMb: "int",
    },
    actions: { activate: { output: "host" }, deactivate: { output: "host" }, remove: { output: "host" } },
    includes: ["ipAddresses"],
  },
  ipAddress: { ...readOnly, fields: { ...common, address: "string" } },
  loadBalancerService: {
    ...writable,
    fields: {
      ...service,
      launchConfig: "launchConfig+!",
      lbConfig: "lbConfig+!",
      publicEndpoints: "array[publicEndpoint]",
      linkedServices: "map[reference[service]]",
    },
    actions: { ...onState, ...onUpgrade, setservicelinks },
  },
  project: { ...readOnly, fields: { ...common } },
  schema: { ...readOnly, fields: { id: "string", pluralName: "string" } },
  service: {
    ...writable,
    collection: ["GET"],
    fields: service,
    actions: { ...onState, ...onUpgrade, setservicelinks },
  },
  setting: { ...readOnly, fields: { id: "string", name: "string", value: "string", activeValue: "string" } },
  stack: {
    collection: ["GET", "POST"],
    resource: ["GET"],
    fields: { ...common, ...transition, ...named, externalId: "string+", startOnCreate: "boolean+" },
  },
  // Parts of objects, and the input of actions.
  instanceHealthCheck: {
    fields: {
      port: "int+!",
      requestLine: "string+",
      interval: "int+",
      responseTimeout: "int+",
      healthyThreshold: "int+",
      unhealthyThreshold: "int+",
      initializingTimeout: "int+",
    },
  },
  launchConfig: {
    fields: {
      imageUuid: "string+!",
      ports: "array[string]+",
      labels: "map[string]+",
      requestedHostId: "reference[host]+",
    },
  },
  lbConfig: {
    fields: {
      portRules: "array[portRule]+",
      certificateIds: "array[reference[certificate]]+",
      defaultCertificateId: "reference[certificate]+",
      config: "string+",
      stickinessPolicy: "loadBalancerCookieStickinessPolicy+",
    },
  },
  loadBalancerCookieStickinessPolicy: {
    fields: {
      name: "string+",
      cookie: "string+",
      domain: "string+",
      mode: "enum+",
      indirect: "boolean+",
      nocache: "boolean+",
      postonly: "boolean+",
    },
  },
  portRule: {
    fields: {
      sourcePort: "int+!",
      targetPort: "int+",
      protocol: "enum+",
      serviceId: "reference[service]+",
      selector: "string+",
      hostname: "string+",
      path: "string+",
      priority: "int+",
      backendName: "string+",
    },
  },
  publicEndpoint: {
    fields: {
      ipAddress: "string",
      port: "int",
      hostId: "reference[host]",
      instanceId: "reference[instance]",
      serviceId: "reference[service]",
    },
  },
  serviceLink: { fields: { serviceId: "reference[service]+!", name: "string+" } },
  inServiceUpgradeStrategy: {
    fields: {
      batchSize: "int+",
      intervalMillis: "int+",
      launchConfig: "launchConfig+",
      startFirst: "boolean+",
    },
  },
  serviceUpgrade: { fields: { inServiceStrategy: "inServiceUpgradeStrategy+" } },
  setServiceLinksInput: { fields: { serviceLinks: "array[serviceLink]+" } },
} as const satisfies Readonly<Record<string, ResourceType>>;
