// The Hetzner Cloud API: what its errors and actions mean, and one function per kind of request.

import {
  bearer,
  type Call,
  CloudError,
  type CloudErrorKind,
  type Context,
  currentValue,
  done,
  type ErrorReport,
  isGone,
  type JobState,
  type JsonRequest,
  jobStarted,
  jsonApi,
  mapEntries,
  numberedPages,
  objectReader,
  pendingJobs,
  type Query,
  rateLimitHeaders,
  type Secret,
} from "#ccm";
import { announcements } from "./announcements.ts";
import type {
  ApiAction,
  ApiCertificate,
  ApiLoadBalancer,
  ApiNetwork,
  ApiServer,
  ApiVolume,
} from "./resources.ts";
import type { Settings } from "./settings.ts";

/** Codes whose status is misleading, or with which an action fails. */
const kinds = new Map<string, CloudErrorKind>(
  Object.entries({
    unauthorized: "unauthorized",
    token_readonly: "forbidden",
    forbidden: "forbidden",
    resource_limit_exceeded: "quota",
    // Volumes of a server, and volumes in a location.
    limit_exceeded_error: "quota",
    no_space_left_in_location: "quota",
    volume_already_attached: "conflict",
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
    protected: "conflict",
    rate_limit_exceeded: "rate-limited",
    bad_gateway: "unavailable",
    unavailable: "unavailable",
    timeout: "unavailable",
    server_error: "unavailable",
    robot_unavailable: "unavailable",
  }),
);

interface ApiErrorBody {
  readonly error: {
    readonly code: string;
    readonly message?: string;
    readonly details?: {
      readonly fields?: readonly { readonly name: string; readonly messages?: readonly string[] }[];
    } | null;
  };
}

/** The message with the code, and with the fields that are invalid. */
function readError(body: unknown): ErrorReport | undefined {
  const { code, message = "no message", details } = (body as Partial<ApiErrorBody> | undefined)?.error ?? {};
  if (typeof code !== "string") return undefined;
  const fields = (details?.fields ?? []).map(({ name, messages = [] }) => `${name}: ${messages.join(", ")}`);
  const where = fields.length === 0 ? "" : ` (${fields.join("; ")})`;
  const scope = code === "rate_limit_exceeded" ? "account" : undefined;
  return { message: `${message}${where} [${code}]`, code, kind: kinds.get(code), scope };
}

/** The largest page that the API serves. */
const pageSize = 50;

interface Meta {
  readonly pagination: { readonly next_page: number | null; readonly total_entries: number | null };
}

/** The limit of 3,600 per hour refills by one per second; the reset time states when it is full. */
const rateLimit = rateLimitHeaders({
  limit: "ratelimit-limit",
  remaining: "ratelimit-remaining",
  full: { header: "ratelimit-reset", unit: "unix-seconds" },
});

export function hetznerApi(settings: Settings, { account, announce, inputs }: Context) {
  const { transport } = account<Secret>({
    name: "hcloud",
    // Read again when the cloud has rejected the token.
    fetch: async () => ({ value: currentValue(settings, "token", inputs) }),
    sign: bearer,
    rateLimit,
  });
  const api = jsonApi({ base: settings.endpoint, transport, readError });
  const pages = numberedPages<{ readonly meta?: Meta }>(api, {
    query: { per_page: pageSize },
    read: ({ meta }) => ({
      next: meta?.pagination.next_page,
      total: meta?.pagination.total_entries ?? undefined,
    }),
  });

  const read = objectReader(api);
  const announced = announcements(announce);

  return {
    servers: (call: Call, query?: Query) =>
      mapEntries(pages<ApiServer>("servers", call, query), announced.server),
    server: (id: string, call: Call) => read<ApiServer>("servers", id, call),
    networks: (call: Call, query?: Query) => pages<ApiNetwork>("networks", call, query),
    network: (id: number, call: Call) => read<ApiNetwork>("networks", id, call),
    loadBalancers: (call: Call, query?: Query) =>
      mapEntries(pages<ApiLoadBalancer>("load_balancers", call, query), announced.balancer),
    loadBalancer: (id: number | string, call: Call) => read<ApiLoadBalancer>("load_balancers", id, call),
    certificates: (call: Call) => pages<ApiCertificate>("certificates", call),
    volumes: (call: Call) => pages<ApiVolume>("volumes", call),
    volume: (id: string, call: Call) => read<ApiVolume>("volumes", id, call),
    volumeActions: (id: string, call: Call) =>
      pages<ApiAction>("volumes/{id}/actions", call, { status: "running" }, id),
    actions: (ids: readonly string[], call: Call) => pages<ApiAction>("actions", call, { id: ids }),
    /** Sends a change, and returns its response with the action that applies it, if any. An empty response becomes `{}`. */
    change: async <T extends object>(request: JsonRequest, call: Call) => {
      type Changed = T & { readonly action?: ApiAction | null };
      return (await api.call<Changed | undefined>(request, call)) ?? ({} as Changed);
    },
  };
}

export type HetznerApi = ReturnType<typeof hetznerApi>;

const operation = "GET /actions";

function failureOf({ id, command, error }: ApiAction): CloudError {
  const { code = "unknown", message = "no message" } = error ?? {};
  const text = `The action ${command} (${id}) failed: ${message} [${code}]`;
  return new CloudError(kinds.get(code) ?? "conflict", text, { operation, code });
}

/** Stands for the Node in the operation of a step that adds a target. */
const target = "target";

/** The outcome of a change, from its response. `title` completes "waiting for …", and `node` is the Node of a target that is added. */
export function outcomeOf(action: ApiAction | null | undefined, title: string, node?: string) {
  if (action === undefined || action === null || action.status === "success") return done();
  if (action.status === "error") throw failureOf(action);
  const members = node === undefined ? {} : { [target]: node };
  return jobStarted({ job: String(action.id), waitingFor: title, members });
}

/** A failing target must not block the other targets. */
function stateOf(action: ApiAction): JobState {
  if (action.status === "running") return "running";
  if (action.status === "success") return { facts: {} };
  const failure = failureOf(action);
  if (action.command !== "add_target") return failure;
  return { facts: {}, refused: [{ node: target, text: failure.message }] };
}

/** `GET /actions` takes as many ids as a page has entries. */
export function pendingActions(api: HetznerApi) {
  return pendingJobs({ limit: 50 }, async (ids: readonly string[], call: Call) => {
    const states = new Map<string, JobState>();
    for await (const page of api.actions(ids, call)) {
      for (const action of page) states.set(String(action.id), stateOf(action));
      await Promise.all(
        page.map(async (action) => {
          const [balancer] = action.resources;
          const isDeletion = action.status === "success" && action.command === "delete_load_balancer";
          if (!isDeletion || balancer === undefined) return;
          const lookup = () => api.loadBalancer(balancer.id, call);
          if (await isGone(lookup)) states.set(String(action.id), { facts: {}, isGone: true });
        }),
      );
    }
    return states;
  });
}
