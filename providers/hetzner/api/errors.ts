// What the error codes of the Hetzner Cloud API mean for Fairlead. Pure.

import type { CloudErrorKind, ErrorReport } from "#ccm";

/** Where the status is misleading, or an action fails with the code. */
const kinds: Readonly<Record<string, CloudErrorKind>> = {
  unauthorized: "unauthorized",
  token_readonly: "forbidden",
  forbidden: "forbidden",
  resource_limit_exceeded: "quota",
  maintenance: "unavailable",
  not_found: "not-found",
  // Another action of the same resource is running.
  conflict: "busy",
  uniqueness_error: "invalid",
  resource_unavailable: "unavailable",
  invalid_input: "invalid",
  service_error: "unavailable",
  unsupported_error: "invalid",
  locked: "busy",
  // The protection was switched on since the load balancer was listed.
  protected: "conflict",
  rate_limit_exceeded: "rate-limited",
  bad_gateway: "unavailable",
  unavailable: "unavailable",
  timeout: "unavailable",
  server_error: "unavailable",
  robot_unavailable: "unavailable",
};

interface ApiErrorBody {
  readonly error: {
    readonly code: string;
    readonly message?: string;
    readonly details?: {
      readonly fields?: readonly { readonly name: string; readonly messages?: readonly string[] }[];
    } | null;
  };
}

export function isApiError(body: unknown): body is ApiErrorBody {
  return typeof (body as Partial<ApiErrorBody> | undefined)?.error?.code === "string";
}

export const kindOfCode = (code: string): CloudErrorKind | undefined => kinds[code];

/** The message with the code, and with the fields that are invalid. */
export function readError(body: unknown): ErrorReport {
  if (!isApiError(body)) return {};
  const { code, message = "no message", details } = body.error;
  const fields = (details?.fields ?? []).map(({ name, messages = [] }) => `${name}: ${messages.join(", ")}`);
  const where = fields.length === 0 ? "" : ` (${fields.join("; ")})`;
  const scope = code === "rate_limit_exceeded" ? "account" : undefined;
  return { message: `${message}${where} [${code}]`, kind: kindOfCode(code), scope };
}

const targetCodes = new Set([
  "resource_limit_exceeded",
  "ip_not_owned",
  "cloud_resource_ip_not_allowed",
  "server_not_attached_to_network",
  "load_balancer_not_attached_to_network",
  "missing_ipv4",
  "robot_unavailable",
]);

/** Whether the cloud refuses this target and would accept another one. */
export function refusesTarget(message: string): boolean {
  const code = /\[(\w+)\]$/.exec(message)?.[1];
  return code !== undefined && targetCodes.has(code);
}
