// The error responses of the simulated cloud, thrown as a Refusal.

import { type Answer, Refused } from "#ccm/testing";

/** The error codes of the API, each with its status. */
export const errorStatuses = {
  json_error: 400,
  unauthorized: 401,
  token_readonly: 401,
  forbidden: 403,
  resource_limit_exceeded: 403,
  maintenance: 403,
  not_found: 404,
  conflict: 409,
  uniqueness_error: 409,
  resource_in_use: 409,
  deprecated_api_endpoint: 410,
  resource_unavailable: 412,
  invalid_input: 422,
  service_error: 422,
  unsupported_error: 422,
  locked: 423,
  protected: 423,
  rate_limit_exceeded: 429,
  server_error: 500,
  bad_gateway: 502,
  unavailable: 503,
  timeout: 504,
  // Load balancers
  ip_not_owned: 422,
  source_port_already_used: 422,
  cloud_resource_ip_not_allowed: 422,
  server_not_attached_to_network: 422,
  target_already_defined: 422,
  missing_ipv4: 422,
  load_balancer_already_attached: 422,
  load_balancer_not_attached_to_network: 422,
  targets_without_use_private_ip: 422,
  load_balancer_public_interface_disabled: 422,
  invalid_load_balancer_type: 422,
  robot_unavailable: 503,
  // Volumes
  limit_exceeded_error: 422,
  volume_already_attached: 422,
  no_space_left_in_location: 422,
  // Networks and servers
  no_subnet_available: 422,
  ip_not_available: 422,
  server_already_attached: 422,
  networks_overlap: 422,
  placement_error: 412,
} as const satisfies Readonly<Record<string, number>>;

export type ErrorCode = keyof typeof errorStatuses;

export class Refusal extends Refused {
  constructor(code: ErrorCode, message: string, details?: unknown) {
    super(errorStatuses[code], message, code, details);
  }
}

/**
 * The error as the API returns it. Without a code, the error has the first code of its status. `forbidden` is the code of a 403.
 */
export function toAnswer(refused: Refused, forbidden: ErrorCode): Answer {
  const { message, details } = refused;
  const [fitting = "server_error"] = Object.entries(errorStatuses).flatMap(([code, status]) =>
    status === refused.status ? [code as ErrorCode] : [],
  );
  const own = fitting === "forbidden" ? forbidden : fitting;
  const { code, status } = {
    code: refused.code ?? own,
    status: refused.code === undefined && refused.status === 403 ? errorStatuses[own] : refused.status,
  };
  return { status, body: { error: { code, message, ...(details !== undefined && { details }) } } };
}

export function notFound(kind: string, id: number | string): Refusal {
  return new Refusal("not_found", `${kind} with ID '${id}' not found`);
}

/** An `invalid_input` error about one field. */
export function invalid(name: string, message: string): Refusal {
  return new Refusal("invalid_input", `invalid input in field '${name}'`, {
    fields: [{ name, messages: [message] }],
  });
}
