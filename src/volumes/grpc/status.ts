// The status of a gRPC call: its codes, and the error that a handler throws.

/** The gRPC status codes with their numbers. */
export const statusCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type StatusCode = keyof typeof statusCodes;

/** Ends a call with a status other than OK. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: Exclude<StatusCode, "OK">;
  readonly promise: string | undefined;

  constructor(
    code: Exclude<StatusCode, "OK">,
    message: string,
    options?: { readonly cause?: unknown; readonly promise?: string | undefined },
  ) {
    super(message, options);
    this.code = code;
    this.promise = options?.promise;
  }
}

/** Parses the header `grpc-timeout`: `10S`, `500m`. Returns milliseconds; undefined for any other text. */
export function timeoutOf(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const milliseconds: Readonly<Record<string, number>> = {
    H: 3_600_000,
    M: 60_000,
    S: 1000,
    m: 1,
    u: 1e-3,
    n: 1e-6,
  };
  const factor = milliseconds[unit];
  return factor === undefined ? undefined : Number(amount) * factor;
}

/** Encodes the header `grpc-message`: printable ASCII is kept, everything else is percent-encoded as UTF-8. */
export function encodeStatusMessage(message: string): string {
  return [...new TextEncoder().encode(message)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("");
}
