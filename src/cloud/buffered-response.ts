// Reads the whole response of a cloud before anything looks at it: within a limit of its size, and without secrets if it is an error.

import { isSecretName, Redaction } from "../core/redaction.ts";
import type { CloudRequest } from "../provider/call.ts";

/** Pages of clouds are far smaller. A body is parsed without a pause, so its size bounds how long everything else waits. */
const maxBody = 32 * 1024 * 1024;

export class BodyTooLargeError extends Error {
  readonly code = `more than ${maxBody / 1024 / 1024} MiB`;
}

async function readBytes(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const { body, headers } = response;
  const length = Number(headers.get("content-length") ?? Number.NaN);
  if (length > maxBody) {
    await body?.cancel();
    throw new BodyTooLargeError();
  }
  // The runtime reads no more than that, at a fraction of the cost of a stream. A compressed body grows.
  if (length <= maxBody && !headers.has("content-encoding"))
    return new Uint8Array(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBody) throw new BodyTooLargeError();
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

export interface BufferedResponse {
  readonly response: Response;
  /** Bytes of the body. */
  readonly size: number;
}

/** The complete response. Servers and proxies repeat rejected credentials in their errors, and providers quote these errors. */
export async function bufferedResponse(
  response: Response,
  redact: (text: string) => string,
): Promise<BufferedResponse> {
  const bytes = await readBytes(response);
  const { status, statusText, headers, ok } = response;
  const body = ok ? bytes : redact(new TextDecoder().decode(bytes));
  const complete = new Response(body.length === 0 ? null : body, { status, statusText, headers });
  return { response: complete, size: bytes.length };
}

/** Redacts the known secrets and the secrets of this request, such as its signature. */
export function redactionOf({ headers = {} }: CloudRequest, known: Redaction): Redaction {
  const secrets = Object.entries(headers).filter(([name]) => isSecretName(name));
  const values = secrets.flatMap(([, value]) => {
    const credential = value.slice(value.indexOf(" ") + 1);
    return known.has(credential) ? [] : [value, credential];
  });
  // Looking for secrets takes an index of each set of them.
  return values.length === 0 ? known : new Redaction(values, { above: known });
}
