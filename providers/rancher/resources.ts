// The objects of the Cattle API, with the fields in use, and what its error codes mean. Pure.

import type { CloudErrorKind, ErrorReport } from "#ccm";

export interface Resource {
  readonly id: string;
  readonly state?: string;
  /** The time when the removal began. */
  readonly removed?: string | null;
  readonly links?: Readonly<Record<string, string>>;
  /** The actions that are possible in this state, with their URLs. */
  readonly actions?: Readonly<Record<string, string>>;
  readonly transitioning?: "yes" | "no" | "error" | null;
  readonly transitioningMessage?: string | null;
}

/** Whether the object is removed, although the server still shows it. */
export const isGoing = ({ state, removed }: Resource): boolean => state === "removing" || Boolean(removed);

type Action = "activate" | "finishupgrade" | "remove" | "setservicelinks" | "update" | "upgrade";

/** The URL for this change; undefined while the state of the object does not permit it. */
export function linkFor({ links = {}, actions = {} }: Resource, action: Action): string | undefined {
  const isMethod = action === "update" || action === "remove";
  return isMethod && actions[action] !== undefined ? links["self"] : actions[action];
}

export interface ApiHost extends Resource {
  readonly uuid: string;
  readonly name?: string | null;
  readonly hostname?: string | null;
  readonly agentState?: string | null;
  readonly agentIpAddress?: string | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  /** Only with `include=ipAddresses`. */
  readonly ipAddresses?: readonly (Resource & { readonly address?: string | null })[] | null;
}

export interface ApiStack extends Resource {
  readonly name: string;
}

export interface ApiSetting {
  readonly id: string;
  readonly name?: string | null;
  readonly value?: string | null;
  readonly activeValue?: string | null;
}

export interface ApiCertificate extends Resource {
  readonly name?: string | null;
}

/** Fields that other clients set stay: `metadata` is sent back completely. */
export type Metadata = Readonly<Record<string, unknown>>;

export interface PortRule {
  readonly sourcePort: number;
  readonly targetPort?: number | null;
  readonly protocol?: string | null;
  readonly serviceId?: string | null;
  readonly selector?: string | null;
  readonly hostname?: string | null;
  readonly path?: string | null;
  readonly backendName?: string | null;
}

export interface LbConfig {
  readonly portRules?: readonly PortRule[] | null;
  readonly certificateIds?: readonly string[] | null;
  readonly defaultCertificateId?: string | null;
  readonly config?: string | null;
  readonly stickinessPolicy?: { readonly cookie?: string | null } | null;
}

/** Ids of the external services in the rules. */
export const ruledIDs = (config: LbConfig | null | undefined): ReadonlySet<string> =>
  new Set(config?.portRules?.flatMap(({ serviceId }) => serviceId ?? []));

/** The server replaces the whole object, so all fields that were read are sent back. */
export interface LaunchConfig {
  readonly imageUuid?: string | null;
  /** For example `80:80/tcp` or `192.0.2.1:80:80/tcp`. */
  readonly ports?: readonly string[] | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly requestedHostId?: string | null;
}

export interface ApiLoadBalancer extends Resource {
  readonly name: string;
  readonly stackId: string;
  readonly state: string;
  readonly scale?: number | null;
  readonly healthState?: string | null;
  readonly metadata?: Metadata | null;
  readonly launchConfig?: LaunchConfig | null;
  /** The ids of the services that the server considers used by the load balancer, by name. */
  readonly linkedServices?: Readonly<Record<string, string>> | null;
  readonly lbConfig?: LbConfig | null;
  readonly publicEndpoints?: readonly { readonly ipAddress?: string | null }[] | null;
}

/** A service of any kind. */
export interface ApiService extends Resource {
  readonly type: string;
  readonly name: string;
  readonly stackId: string;
}

export interface ApiExternalService extends Resource {
  readonly name: string;
  readonly stackId: string;
  readonly state: string;
  readonly externalIpAddresses?: readonly string[] | null;
  /** Set instead of addresses. */
  readonly hostname?: string | null;
  readonly metadata?: Metadata | null;
}

/** Codes whose status is not precise enough. */
const kinds = new Map<string, CloudErrorKind>(
  Object.entries({
    Unauthorized: "unauthorized",
    Forbidden: "forbidden",
    NotFound: "not-found",
    MethodNotAllowed: "invalid",
    InvalidAction: "invalid",
    Conflict: "conflict",
    // The object is changing its state.
    ActionNotAvailable: "busy",
    InvalidState: "busy",
    // A removed object keeps its name for some seconds, and another Service may create the same external service.
    NotUnique: "conflict",
    // Another Service removed the referenced object.
    InvalidReference: "conflict",
  }),
);

/** The server sends no message with these codes. */
const texts: Readonly<Record<string, string>> = {
  ActionNotAvailable: "the action is not possible in this state",
  InvalidAction: "the action does not exist",
  InvalidCharacters: "the value has characters that are not allowed",
  InvalidFormat: "the value has an invalid format",
  InvalidOption: "the value is not allowed",
  InvalidReference: "an object that is referred to does not exist",
  MaxLengthExceeded: "the value is too long",
  MaxLimitExceeded: "the value is too large",
  MinLengthExceeded: "the value is too short",
  MinLimitExceeded: "the value is too small",
  MissingRequired: "a value is missing",
  NotUnique: "the name is taken",
};

interface ApiErrorBody {
  readonly type: "error";
  readonly code?: string | null;
  readonly message?: string | null;
  readonly detail?: string | null;
  readonly fieldName?: string | null;
}

/** The message with the field that is invalid, and the code. */
export function readError(body: unknown): ErrorReport | undefined {
  const { type, code, message, detail, fieldName } = (body ?? {}) as Partial<ApiErrorBody>;
  if (type !== "error") return undefined;
  const sent = [message, detail].filter((text) => text !== undefined && text !== null && text !== "");
  const text = sent.length === 0 ? (texts[code ?? ""] ?? "no message") : sent.join(": ");
  const field = fieldName ? ` (field ${fieldName})` : "";
  return {
    message: `${text}${field} [${code ?? "no code"}]`,
    code: code ?? undefined,
    kind: kinds.get(code ?? ""),
  };
}
