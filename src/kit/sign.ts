// Adds common credentials to requests, for `Account.sign`. Pure.

import type { Secret } from "../core/secret.ts";
import type { CloudRequest } from "../provider/call.ts";

function authorized(request: CloudRequest, authorization: string): CloudRequest {
  return { ...request, headers: { ...request.headers, authorization } };
}

/** `Authorization: Bearer`, with a token. */
export function bearer(request: CloudRequest, token: Secret): CloudRequest {
  return authorized(request, `Bearer ${token.reveal()}`);
}

/** `Authorization: Basic`, with a user and a password. */
export function basic(
  request: CloudRequest,
  { user, password }: { readonly user: string; readonly password: Secret },
): CloudRequest {
  return authorized(request, `Basic ${Buffer.from(`${user}:${password.reveal()}`).toString("base64")}`);
}
