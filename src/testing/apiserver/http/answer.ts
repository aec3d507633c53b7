// Builds the HTTP responses of the test API server.

import type { ApiError } from "../objects/api-error.ts";
import type { JsonObject } from "../objects/json.ts";

export function answerText(
  code: number,
  body: string | ReadableStream<Uint8Array<ArrayBuffer>>,
  warnings: readonly string[] = [],
  contentType = "application/json",
): Response {
  const headers: Record<string, string> = {
    "content-type": contentType,
    "cache-control": "no-cache, private",
  };
  if (warnings.length > 0) {
    headers["warning"] = warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(", ");
  }
  return new Response(body, { status: code, headers });
}

export function answerJson(code: number, body: JsonObject, warnings: readonly string[] = []): Response {
  return answerText(code, JSON.stringify(body), warnings);
}

export function answerError(error: ApiError, warnings: readonly string[] = []): Response {
  return answerJson(error.code, error.status, warnings);
}
