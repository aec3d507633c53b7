// The server that a case runs against: the test API server or a real one, through a transport.

import { defined } from "../../../../src/core/defined.ts";
import type { TlsMaterial, Transport } from "../../../../src/platform/transport.ts";
import { isObject, type JsonObject } from "../../../../src/testing/apiserver/objects/json.ts";

export interface Target {
  readonly baseURL: string;
  readonly transport: Transport;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: TlsMaterial;
  /** A name that is unique on this server. */
  readonly unique: (prefix: string) => string;
}

export interface TwinCase {
  readonly name: string;
  /** The first minor version of Kubernetes 1 with this behavior, if an older one is tested. */
  readonly since?: number;
  /** The case needs streaming lists, which the feature gate WatchList of the API server disables. */
  readonly streams?: boolean;
  readonly run: (target: Target) => Promise<void>;
}

export interface Answer {
  readonly code: number;
  readonly body: JsonObject;
  readonly warning: string;
}

export const json = "application/json";
export const jsonPatch = "application/json-patch+json";
export const mergePatch = "application/merge-patch+json";
export const strategicPatch = "application/strategic-merge-patch+json";

const open = (
  target: Target,
  method: string,
  path: string,
  body: unknown,
  type: string,
  signal: AbortSignal,
  accept: string = json,
) =>
  target.transport(
    defined({
      method,
      url: `${target.baseURL}${path}`,
      headers:
        body === undefined
          ? { ...target.headers, accept }
          : { ...target.headers, accept, "content-type": type },
      body: body === undefined ? undefined : JSON.stringify(body),
      tls: target.tls,
    }),
    signal,
  );

export const call = async (
  target: Target,
  method: string,
  path: string,
  body?: unknown,
  type: string = json,
  accept: string = json,
): Promise<Answer> => {
  const response = await open(target, method, path, body, type, new AbortController().signal, accept);
  const parsed: unknown = JSON.parse(await response.text());
  return {
    code: response.status,
    body: isObject(parsed) ? parsed : {},
    warning: response.headers.get("warning") ?? "",
  };
};

export interface WatchLine {
  readonly type: string;
  readonly object: JsonObject;
}

/** The first lines of a watch; `act` runs once it is open. */
export const watchLines = async (
  target: Target,
  path: string,
  count: number,
  act: () => Promise<void> = async () => {},
): Promise<readonly WatchLine[]> => {
  const stop = new AbortController();
  const response = await open(target, "GET", path, undefined, json, stop.signal);
  if (response.status !== 200) throw new Error(`The watch was answered with ${response.status}.`);
  await act();
  const lines: WatchLine[] = [];
  let text = "";
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  while (lines.length < count) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    text += decoder.decode(part.value, { stream: true });
    const whole = text.split("\n");
    text = whole.pop() ?? "";
    for (const line of whole) if (line !== "") lines.push(JSON.parse(line) as WatchLine);
  }
  await reader?.cancel();
  stop.abort();
  return lines.slice(0, count);
};

export const makeNode = async (
  target: Target,
  more: JsonObject = {},
): Promise<JsonObject & { name: string; path: string }> => {
  const name = target.unique("node");
  const { body, code } = await call(target, "POST", "/api/v1/nodes", { metadata: { name }, ...more });
  if (code !== 201) throw new Error(`The Node could not be created: ${JSON.stringify(body)}`);
  return { ...body, name, path: `/api/v1/nodes/${name}` };
};

export const makeService = async (
  target: Target,
  spec: JsonObject,
): Promise<JsonObject & { name: string; path: string }> => {
  const name = target.unique("service");
  const root = "/api/v1/namespaces/default/services";
  const { body, code } = await call(target, "POST", root, { metadata: { name }, spec });
  if (code !== 201) throw new Error(`The Service could not be created: ${JSON.stringify(body)}`);
  return { ...body, name, path: `${root}/${name}` };
};
