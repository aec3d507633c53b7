// How a test or an operator moves the simulated cloud from outside its API: machines in bulk, faults, lies, counters. It
// is no part of what a provider may call.

import { milliseconds } from "../../../src/core/brand.ts";
import { type Answer, type Question, Refusal } from "./answer.ts";
import type { FakeCloud } from "./fake-cloud.ts";
import type { Fault, Lie } from "./faults.ts";
import type { SimulatedMachine } from "./machines.ts";

interface Order {
  /** Ids or names. */
  readonly machines?: readonly string[];
  /** For `add`: this many, named `<prefix><number>`. */
  readonly count?: number;
  readonly prefix?: string;
  readonly latency?: number;
  readonly actionTime?: number;
}

const machineOrders = {
  stop: (cloud, which) => cloud.machines.setStatus(which, "stopped"),
  start: (cloud, which) => cloud.machines.setStatus(which, "running"),
  terminate: (cloud, which) => cloud.machines.setStatus(which, "terminating"),
  remove: (cloud, which) => cloud.machines.remove(which),
} as const satisfies Record<string, (cloud: FakeCloud, which: string) => number>;

const add = (cloud: FakeCloud, { machines = [], count = 0, prefix = "node-" }: Order): SimulatedMachine[] => {
  const first = cloud.machines.list().length;
  const names = [...machines, ...Array.from({ length: count }, (_, index) => `${prefix}${first + index}`)];
  return names.map((name) => cloud.machines.add(name));
};

/** Undefined: not a request to the admin API. */
export const handleAdmin = (cloud: FakeCloud, { method, path, body }: Question): Answer | undefined => {
  if (!path.startsWith("/admin/")) return undefined;
  const order = (body ?? {}) as Order;
  const verb = path.slice("/admin/machines/".length);
  switch (`${method} ${path}`) {
    case "GET /admin/counters":
      return { status: 200, body: cloud.counts() };
    case "DELETE /admin/counters":
      cloud.seen.length = 0;
      return { status: 204 };
    case "GET /admin/state":
      return {
        status: 200,
        body: {
          machines: cloud.machines.list(),
          balancers: cloud.balancers.list(),
          routes: cloud.routes.list(),
        },
      };
    case "POST /admin/machines/add":
      return { status: 201, body: { machines: add(cloud, order) } };
    case "POST /admin/faults":
      cloud.faults.add(body as Fault);
      return { status: 204 };
    case "POST /admin/lies":
      cloud.faults.lie(body as Lie);
      return { status: 204 };
    case "DELETE /admin/faults":
      cloud.faults.clear();
      return { status: 204 };
    case "PATCH /admin/pace":
      cloud.latency = milliseconds(order.latency ?? cloud.latency);
      cloud.balancers.actionTime = milliseconds(order.actionTime ?? cloud.balancers.actionTime);
      return { status: 204 };
    case "POST /admin/reset":
      reset(cloud);
      return { status: 204 };
  }
  if (method === "POST" && Object.hasOwn(machineOrders, verb)) {
    const carryOut = machineOrders[verb as keyof typeof machineOrders];
    const changed = (order.machines ?? []).reduce((sum, which) => sum + carryOut(cloud, which), 0);
    return { status: 200, body: { changed } };
  }
  return new Refusal(404, "not_found", `${method} ${path} is not an admin operation`).toAnswer();
};

const reset = (cloud: FakeCloud): void => {
  cloud.faults.clear();
  cloud.seen.length = 0;
  for (const { id } of cloud.machines.list()) cloud.machines.remove(id);
  for (const { id } of cloud.routes.list()) cloud.routes.remove(id);
  cloud.balancers.clear();
};
