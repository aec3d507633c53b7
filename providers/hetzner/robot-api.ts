// Hetzner's Robot web service for dedicated servers: its account and requests.

import { type Call, type Context, jsonApi, type Milliseconds, type Secret } from "#ccm";

export interface RobotServer {
  readonly server_number: number;
  readonly server_name: string;
  readonly server_ip: string | null;
  /** The network part of its range, such as 2a01:f48:111:4221:: */
  readonly server_ipv6_net: string | null;
  readonly product: string;
  readonly dc: string;
}

interface RobotErrorBody {
  readonly error: { readonly status: number; readonly code: string; readonly message: string };
}

export interface RobotOptions {
  /** Undefined: the public one. */
  readonly endpoint: string | undefined;
  readonly readUser: () => string;
  readonly readPassword: () => Secret;
  /** How long no request is sent after one was refused because of the rate limit. */
  readonly waitTime: Milliseconds;
  readonly account: Context["account"];
}

function isApiError(body: unknown): body is RobotErrorBody {
  return typeof (body as Partial<RobotErrorBody> | undefined)?.error?.code === "string";
}

export function robotApi({ endpoint, readUser, readPassword, waitTime, account }: RobotOptions) {
  const { transport } = account<{ readonly user: string; readonly password: Secret }>({
    name: "robot",
    fetch: async () => ({ value: { user: readUser(), password: readPassword() } }),
    sign: (request, { user, password }) => {
      const credential = Buffer.from(`${user}:${password.reveal()}`).toString("base64");
      return { ...request, headers: { ...request.headers, authorization: `Basic ${credential}` } };
    },
    // A client that goes on is locked out, so nothing is sent for a while.
    rateLimit: ({ status }) => (status === 403 ? { retryAfter: { in: waitTime } } : undefined),
  });
  const api = jsonApi({
    base: endpoint ?? "https://robot-ws.your-server.de",
    transport,
    isApiError,
    readError: (body) => {
      if (!isApiError(body)) return {};
      const { code, message } = body.error;
      const isThrottled = code === "RATE_LIMIT_EXCEEDED";
      return {
        message: `${message} [${code}]`,
        ...(isThrottled && { kind: "rate-limited", scope: "account" }),
      };
    },
  });
  const get = <T>(operation: string, path: string, call: Call) =>
    api.call<T>({ operation, method: "GET", path }, call);
  return {
    /** All servers, in one response. */
    servers: (call: Call) => get<readonly { readonly server: RobotServer }[]>("GET /server", "/server", call),
    server: (number: string, call: Call) =>
      get<{ readonly server: RobotServer }>("GET /server/{number}", `/server/${number}`, call),
    reset: (number: string, call: Call) =>
      get<{ readonly reset: { readonly operating_status?: string } }>(
        "GET /reset/{number}",
        `/reset/${number}`,
        call,
      ),
  };
}

export type RobotApi = ReturnType<typeof robotApi>;
