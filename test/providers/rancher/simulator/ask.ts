// A simulated Rancher in virtual time, and requests to it.

import { asTransport, VirtualClock } from "#ccm/testing";
import { RancherCloud, type RancherOptions } from "../../../../providers/rancher/simulator/index.ts";
import { type Milliseconds, seconds } from "../../../../src/core/brand.ts";

export const base = "http://rancher.example:8080/v2-beta";

export interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the JSON of the simulator without types.
  readonly body: any;
  readonly headers: Headers;
  /** The error code. */
  readonly code: string | undefined;
}

const image = "docker:rancher/lb-service-haproxy:v0.9.14";

export function setUp(options: Partial<RancherOptions> = {}) {
  const clock = new VirtualClock();
  const cloud = new RancherCloud({ clock, ...options });
  const transport = asTransport(cloud);
  const send = async (method: string, path: string, text?: string): Promise<Answered> => {
    const url = path.startsWith("http") ? path : `${base}${path}`;
    const headers = { authorization: `Basic ${btoa("access:secret")}` };
    const sent = { method, url, headers, ...(text !== undefined && { body: text }) };
    const response = await transport(sent, new AbortController().signal);
    const body: Answered["body"] = await response.json();
    return { status: response.status, body, headers: response.headers, code: body.code };
  };
  const ask = (method: string, path: string, body?: object): Promise<Answered> =>
    send(method, path, body === undefined ? undefined : JSON.stringify(body));
  const stack = cloud.environment.addStack("lbs");
  const create = async (type: string, body: object): Promise<Answered["body"]> => {
    const created = await ask("POST", `/${type}s`, { stackId: stack.id, ...body });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    return created.body;
  };
  return {
    clock,
    cloud,
    stack,
    send,
    ask,
    environment: cloud.environment,
    get: (path: string) => ask("GET", path),
    pass: (time: Milliseconds = seconds(1)) => clock.advance(time),
    balancerBody: (name: string, ports: readonly string[] = ["80:80/tcp"]) => ({
      name,
      stackId: stack.id,
      launchConfig: { imageUuid: image, ports },
      lbConfig: {},
    }),
    createBalancer: (name: string, ports: readonly string[] = ["80:80/tcp"], more: object = {}) =>
      create("loadBalancerService", {
        name,
        launchConfig: { imageUuid: image, ports },
        lbConfig: {},
        ...more,
      }),
    createExternal: (name: string, more: object = {}) =>
      create("externalService", { name, externalIpAddresses: ["192.0.2.1"], ...more }),
  };
}
