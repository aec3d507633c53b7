// The admin API of the simulated cloud, for tests and for people: adds, stops and resizes machines, injects faults, resets counters.
// Providers do not use it. Its reference is docs/fake-cloud.md.

import { milliseconds } from "#ccm";
import type { Answer } from "#ccm/testing";
import {
  type Addition,
  type Lie,
  readAddition,
  readLie,
  readMachines,
  readPace,
  readResize,
} from "./admin-requests.ts";
import { type Query, Refusal } from "./answer.ts";
import type { FakeCloud } from "./fake-cloud.ts";
import type { SimulatedMachine } from "./machines.ts";

const machineActions = {
  stop: (cloud, which) => cloud.machines.setStatus(which, "stopped"),
  start: (cloud, which) => cloud.machines.setStatus(which, "running"),
  terminate: (cloud, which) => cloud.machines.setStatus(which, "terminating"),
  remove: (cloud, which) => cloud.machines.remove(which),
} as const satisfies Record<string, (cloud: FakeCloud, which: string) => number>;

function add(cloud: FakeCloud, { machines = [], count = 0, prefix = "node-" }: Addition): SimulatedMachine[] {
  const first = cloud.machines.list().length;
  const names = [...machines, ...Array.from({ length: count }, (_, index) => `${prefix}${first + index}`)];
  return names.map((name) => cloud.machines.add(name));
}

function changeMachines(
  cloud: FakeCloud,
  machines: readonly string[],
  change: (which: string) => number,
): Answer {
  const unknown = machines.filter((which) => cloud.machines.find(which).length === 0);
  if (unknown.length === machines.length) {
    const names = unknown.slice(0, 5).join(", ");
    throw new Refusal(
      404,
      "not_found",
      `no machine has the id or name ${names}; GET /admin/state lists them`,
    );
  }
  const changed = machines.reduce((sum, which) => sum + change(which), 0);
  return { status: 200, body: { changed, ...(unknown.length > 0 && { unknown }) } };
}

function hide(cloud: FakeCloud, { machine, milliseconds }: Lie): void {
  cloud.faults.hide({ resource: machine, from: "both", milliseconds });
}

const done: Answer = { status: 204 };

/** Throws a Refusal for an invalid request. */
function apply(cloud: FakeCloud, query: Query): Answer {
  const { method, path } = query;
  const verb = path.slice("/admin/machines/".length);
  switch (`${method} ${path}`) {
    case "GET /admin/counters":
      return { status: 200, body: cloud.counts() };
    case "DELETE /admin/counters":
      cloud.forget();
      return done;
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
      return { status: 201, body: { machines: add(cloud, readAddition(query)) } };
    case "POST /admin/machines/resize": {
      const { machines, type } = readResize(query);
      return changeMachines(cloud, machines, (which) => cloud.machines.resize(which, type));
    }
    case "POST /admin/faults": {
      const expected = cloud.faults.addWritten(query.body);
      if (expected !== undefined) throw new Refusal(400, "invalid_request", expected);
      return done;
    }
    case "POST /admin/lies":
      hide(cloud, readLie(query));
      return done;
    case "DELETE /admin/faults":
      cloud.faults.clear();
      return done;
    case "PATCH /admin/pace": {
      const { latency, actionTime } = readPace(query);
      cloud.latency = milliseconds(latency ?? cloud.latency);
      cloud.balancers.actionTime = milliseconds(actionTime ?? cloud.balancers.actionTime);
      return done;
    }
    case "POST /admin/reset":
      reset(cloud);
      return done;
  }
  if (method === "POST" && path.startsWith("/admin/machines/") && Object.hasOwn(machineActions, verb)) {
    const action = machineActions[verb as keyof typeof machineActions];
    return changeMachines(cloud, readMachines(query), (which) => action(cloud, which));
  }
  const where = "docs/fake-cloud.md lists them";
  throw new Refusal(404, "not_found", `${method} ${path} is not an admin operation; ${where}`);
}

/** Undefined: not a request to the admin API. */
export function handleAdmin(cloud: FakeCloud, query: Query): Answer | undefined {
  if (!query.path.startsWith("/admin/")) return undefined;
  try {
    return apply(cloud, query);
  } catch (error) {
    if (error instanceof Refusal) return error.toAnswer();
    throw error;
  }
}

function reset(cloud: FakeCloud): void {
  cloud.faults.clear();
  cloud.forget();
  for (const { id } of cloud.machines.list()) cloud.machines.remove(id);
  for (const { id } of cloud.routes.list()) cloud.routes.remove(id);
  cloud.balancers.clear();
}
