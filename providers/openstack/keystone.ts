// Keystone: the request for a token, and the content of the token: its end, and the addresses of the services.

import {
  type Call,
  CloudError,
  type CloudTransport,
  type Fetched,
  type Inputs,
  jsonApi,
  type Secret,
  type TlsMaterial,
} from "#ccm";
import { readClouds } from "./config-file.ts";
import { type Settings, sectionOf, usesClouds } from "./settings.ts";

/** A token and the data to use it. */
export interface Session {
  readonly token: string;
  readonly endpoints: readonly Endpoint[];
  readonly projectID: string | undefined;
  readonly region: string | undefined;
  readonly tls: TlsMaterial | undefined;
  /** The endpoint interface, such as `public`. */
  readonly endpointType: string;
}

interface Endpoint {
  readonly type: string;
  readonly interface: string;
  readonly region: string;
  readonly url: string;
}

interface TokenBody {
  readonly token: {
    readonly expires_at: string | null;
    readonly project?: { readonly id: string };
    readonly catalog?: readonly {
      readonly type: string;
      readonly endpoints?: readonly (Omit<Endpoint, "type" | "region"> & {
        readonly region?: string | null;
        readonly region_id?: string | null;
      })[];
    }[];
  };
}

const operation = "POST /auth/tokens";

/** Setting values by name, completed from `clouds.yaml`; reread with each token. */
type Values = (name: keyof Settings & string) => string | undefined;

function cloudOf(settings: Settings, inputs: Inputs): ReturnType<typeof readClouds> {
  const content = usesClouds(settings) ? (inputs.file(settings["clouds-file"])?.reveal() ?? "") : undefined;
  return content === undefined ? {} : readClouds(content, settings.cloud);
}

/** The cloud in `clouds.yaml` that has the credentials. */
export function cloudInUse(settings: Settings): string | undefined {
  const { password, "application-credential-secret": secret, cloud, "clouds-file": path } = settings;
  if (!usesClouds(settings) || password !== undefined || secret !== undefined) return undefined;
  return cloud === undefined ? path : `cloud ${JSON.stringify(cloud)} in ${path}`;
}

/** The region of labels and provider ids. */
export function regionOf(settings: Settings, inputs: Inputs): string | undefined {
  const cloud = cloudOf(settings, inputs);
  return settings.region ?? (typeof cloud === "string" ? undefined : cloud["region"]);
}

function valuesOf(settings: Settings, inputs: Inputs): Values {
  const path = settings["clouds-file"];
  const clouds = cloudOf(settings, inputs);
  if (typeof clouds === "string")
    throw new CloudError("unauthorized", `${path} cannot be used: ${clouds}. Correct it, or set cloud.`, {
      operation,
    });
  return (name) => {
    const own = settings[name] as string | boolean | Secret | undefined;
    // A default must not hide a value of the file.
    const isSet =
      typeof own === "object" ? true : name === "os-endpoint-type" ? own !== "public" : Boolean(own);
    const value = isSet ? own : (clouds[name] ?? own);
    return typeof value === "object"
      ? value.reveal().trim()
      : value === undefined
        ? undefined
        : String(value);
  };
}

const byID = (id: string | undefined) => (id === undefined ? undefined : { id });

function identityOf(value: Values): object {
  const byName = (name: string | undefined) => (name === undefined ? undefined : { name });
  const shared = byID(value("domain-id")) ?? byName(value("domain-name"));
  const domain = byID(value("user-domain-id")) ?? byName(value("user-domain-name")) ?? shared;
  const trust = value("trust-id");
  const userID = (trust && value("trustee-id")) ?? value("user-id");
  const user = byID(userID) ?? { name: value("username"), domain };
  const secret = value("application-credential-secret");
  if (secret !== undefined) {
    const id = value("application-credential-id");
    const which = id === undefined ? { name: value("application-credential-name"), user } : { id };
    // The scope has its own project.
    return {
      identity: { methods: ["application_credential"], application_credential: { ...which, secret } },
    };
  }
  const projectDomain =
    byID(value("tenant-domain-id")) ?? byName(value("tenant-domain-name")) ?? shared ?? domain;
  const name = value("tenant-name");
  const project = byID(value("tenant-id")) ?? (name && { name, domain: projectDomain });
  const scope = trust === undefined ? project && { project } : { "OS-TRUST:trust": { id: trust } };
  const password = (trust && value("trustee-password")) ?? value("password");
  const token = value("token");
  const identity =
    password === undefined && token !== undefined
      ? { methods: ["token"], token: { id: token } }
      : { methods: ["password"], password: { user: { ...user, password } } };
  return { identity, ...(scope && { scope }) };
}

export function tlsFiles(settings: Settings) {
  return (["ca-file", "cert-file", "key-file"] as const).flatMap((name) => {
    const path = settings[name];
    if (path === undefined) return [];
    return { kind: "File", path, ...(name !== "key-file" && { certificatesOf: name }) } as const;
  });
}

function tlsOf(value: Values, inputs: Inputs): TlsMaterial | undefined {
  const read = (name: "ca-file" | "cert-file" | "key-file") => {
    const path = value(name);
    return path === undefined ? undefined : inputs.file(path)?.reveal().trim();
  };
  const [ca, cert, key] = [read("ca-file"), read("cert-file"), read("key-file")];
  const skipVerification = value("tls-insecure") === "true";
  if (ca === undefined && cert === undefined && !skipVerification) return undefined;
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), skipVerification };
}

/** The version is optional in the setting. */
const versioned = (url: string): string => url.replace(/(\/v3)?\/*$/, "/v3");

/** Requests a token from Keystone. After a token is rejected, a new one is requested with the current credentials. */
export async function fetchSession(
  settings: Settings,
  inputs: Inputs,
  plain: CloudTransport,
  call: Call,
): Promise<Fetched<Session>> {
  const value = valuesOf(settings, inputs);
  const [url, tls] = [value("auth-url"), tlsOf(value, inputs)];
  if (url === undefined)
    throw new CloudError("unauthorized", "auth-url is neither set nor in clouds.yaml. Set it.", {
      operation,
    });
  const transport: CloudTransport = (request, each, read) =>
    plain(tls === undefined ? request : { ...request, tls }, each, read);
  const { body, headers } = await jsonApi({ base: versioned(url), transport }).answer<TokenBody>(
    {
      operation,
      method: "POST",
      path: "/auth/tokens",
      mutates: false,
      expects: ["token"],
      body: { auth: identityOf(value) },
    },
    call,
  );
  const token = headers.get("x-subject-token");
  if (token === null)
    throw new CloudError(
      "unavailable",
      `${operation} returned no X-Subject-Token; check auth-url, and for a proxy.`,
      { operation },
    );
  const { expires_at, project, catalog = [] } = body.token;
  const endpoints = catalog.flatMap(({ type, endpoints = [] }) =>
    endpoints.map((one) => ({
      type,
      interface: one.interface,
      url: one.url,
      region: one.region_id ?? one.region ?? "",
    })),
  );
  const endpointType = (value("os-endpoint-type") ?? "public").replace(/URL$/, "");
  const session = { token, endpoints, projectID: project?.id, region: value("region"), tls, endpointType };
  const end = Date.parse(expires_at ?? "");
  return { value: session, ...(!Number.isNaN(end) && { goodUntil: { at: end } }) };
}

/** Many catalogs have only the former name, and some have both. */
const formerTypes: Readonly<Record<string, string>> = { "block-storage": "volumev3" };

/** The URL of a service, or an error that lists the content of the catalog. */
export function endpointOf(session: Session, type: string, scope?: string): string {
  const { endpoints, region, endpointType } = session;
  const offered = endpoints.filter((one) => one.interface === endpointType);
  const alias = offered.some((one) => one.type === type) ? type : (formerTypes[type] ?? type);
  const ofType = offered.filter((one) => one.type === alias);
  const [found, other] = ofType.filter((one) => region === undefined || one.region === region);
  if (found !== undefined && other === undefined) return found.url.replace(/\/+$/, "");
  const known = ofType.map((one) => one.region).toSorted();
  const where = region === undefined ? "and no region is set" : `and none of them is in region ${region}`;
  const has =
    ofType.length === 0
      ? `The catalog has no service ${type} with the interface ${endpointType}.`
      : `The catalog has the service ${type} in ${known.join(", ")}, ${where}.`;
  throw new CloudError(
    "invalid",
    `${has} Correct region${scope === undefined ? "" : ` in ${sectionOf(scope)}`} or os-endpoint-type, or ask the cloud operator.`,
    { operation },
  );
}
