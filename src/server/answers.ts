// Responses of the secure port: plain text, JSON, and errors as a Kubernetes Status.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { ServedResponse } from "../platform/listener.ts";

function headersOf(contentType: string): Readonly<Record<string, string>> {
  return {
    "content-type": contentType,
    "x-content-type-options": "nosniff",
  };
}

export function textAnswer(
  body: string,
  status = 200,
  contentType = "text/plain; charset=utf-8",
): ServedResponse {
  return { status, headers: headersOf(contentType), body };
}

export function jsonAnswer(value: unknown, status = 200): ServedResponse {
  return {
    status,
    headers: headersOf("application/json"),
    body: `${JSON.stringify(value, undefined, 2)}\n`,
  };
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
};

/** An error as the API server sends it: kubectl and client libraries print the message. */
export function refusal(status: number, message: string): ServedResponse {
  return jsonAnswer(
    {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: reasons[status] ?? "Unknown",
      code: status,
    },
    status,
  );
}

/** A value that is expensive to compute, computed at most once per lifetime. */
export class CachedValue<T> {
  readonly #make: () => T;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #lifetime: Milliseconds;
  #cached: { readonly value: T; readonly at: number } | undefined;

  constructor(make: () => T, clock: Pick<Clock, "monotonic">, lifetime: Milliseconds = seconds(1)) {
    this.#make = make;
    this.#clock = clock;
    this.#lifetime = lifetime;
  }

  get(): T {
    const now = this.#clock.monotonic();
    if (this.#cached === undefined || now - this.#cached.at >= this.#lifetime) {
      this.#cached = { value: this.#make(), at: now };
    }
    return this.#cached.value;
  }
}
