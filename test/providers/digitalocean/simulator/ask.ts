// A simulated DigitalOcean in virtual time, and requests to it.

import { asTransport, VirtualClock } from "#ccm/testing";
import {
  DigitalOceanCloud,
  type DigitalOceanOptions,
} from "../../../../providers/digitalocean/simulator/index.ts";

export interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the JSON of the simulator without types.
  readonly body: any;
  readonly headers: Headers;
}

export function setUp(options: Partial<DigitalOceanOptions> = {}) {
  const clock = new VirtualClock();
  const cloud = new DigitalOceanCloud({ clock, ...options });
  const transport = asTransport(cloud);
  const { signal } = new AbortController();
  const ask = async (path: string, method = "GET", body?: unknown, token = "token"): Promise<Answered> => {
    const response = await transport(
      {
        method,
        url: `https://api.digitalocean.com/v2${path}`,
        headers: { authorization: `Bearer ${token}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      signal,
    );
    const read: Answered["body"] = response.status === 204 ? undefined : await response.json();
    return { status: response.status, body: read, headers: response.headers };
  };
  return { clock, cloud, account: cloud.account, transport, ask };
}

/** An HTTP load balancer as clients describe it. */
export function described(name: string, changes: object = {}) {
  const rule = { entry_protocol: "http", entry_port: 80, target_protocol: "http", target_port: 30_080 };
  return { name, region: "nyc3", forwarding_rules: [rule], ...changes };
}
