// Reads a cloud's whole response before any code parses it, up to a size limit, and redacts secrets from errors.

import { isSecretName, Redaction } from "../core/redaction.ts";
import type { CloudRequest } from "../provider/call.ts";

/** Cloud pages are far smaller. Parsing a body blocks the process, so the size limits how long all other work waits. */
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
  // The runtime reads no more bytes than the header states, at a fraction of the cost of a stream. A compressed body grows.
  if (length <= maxBody && !headers.has("content-encoding"))
    return new Uint8Array(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the remaining body.
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
  /** The size of the body in bytes. */
  readonly size: number;
}

/** The complete response. Servers and proxies repeat rejected credentials in errors, and providers quote these errors. */
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
  // Searching for secrets requires an index for each set.
  return values.length === 0 ? known : new Redaction(values, { above: known });
}
