// A simulated Hetzner Cloud in virtual time, and requests to it.

import { asTransport, VirtualClock } from "#ccm/testing";
import { HetznerCloud, type HetznerOptions } from "../../../../providers/hetzner/simulator/index.ts";

export interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the JSON of the simulator without types.
  readonly body: any;
  readonly headers: Headers;
  /** The error code. */
  readonly code: string | undefined;
}

export function setUp(options: Partial<HetznerOptions> = {}) {
  const clock = new VirtualClock();
  const cloud = new HetznerCloud({ clock, ...options });
  const transport = asTransport(cloud);
  const { signal } = new AbortController();
  const send = async (
    url: string,
    method: string,
    body: unknown,
    authorization: string,
  ): Promise<Answered> => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await transport({ method, url, headers: { authorization }, ...text }, signal);
    const read: Answered["body"] = response.status === 204 ? undefined : await response.json();
    return { status: response.status, body: read, headers: response.headers, code: read?.error?.code };
  };
  return {
    clock,
    cloud,
    project: cloud.project,
    transport,
    ask: (path: string, method = "GET", body?: unknown, token = "token") =>
      send(`https://cloud/v1${path}`, method, body, `Bearer ${token}`),
    askRobot: (path: string, credentials = "robot:robot") =>
      send(`https://robot${path}`, "GET", undefined, `Basic ${btoa(credentials)}`),
  };
}

export const namesIn = (list: readonly { readonly name: string }[]): readonly string[] =>
  list.map(({ name }) => name);
