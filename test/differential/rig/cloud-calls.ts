// Records the requests that change a simulated cloud, each with the object concerned.

import type { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import type { SimulatedRoute } from "../../../providers/fake/simulator/routes.ts";

export interface CloudCall {
  /**
   * The object, such as `load balancer of UID`, with the uid of the Service, or `route of node-1: to
   * 10.244.1.0/24`.
   */
  readonly about: string;
  /** The change, such as `change targets`. */
  readonly what: string;
  /** The manager's token. */
  readonly by: string | undefined;
}

type Body = Readonly<Record<string, unknown>>;
const verbs: Readonly<Record<string, string>> = { POST: "create", PATCH: "change", DELETE: "delete" };
export const ownerLabel = "owner-uid";

/** The name of the machine, which is the name of its Node. */
export function nameOfRoute(
  cloud: FakeCloud,
  { destination, machine = "" }: Partial<SimulatedRoute>,
): string {
  return `route of ${cloud.machines.find(machine)[0]?.name ?? "no machine"}: to ${destination}`;
}

/** Finds the object that a request concerns. Remembers the owners of deleted load balancers. */
class Subjects {
  readonly #cloud: FakeCloud;
  readonly #owners = new Map<string, string>();

  constructor(cloud: FakeCloud) {
    this.#cloud = cloud;
  }

  of(path: string, body: Body): string {
    const [, collection, id = ""] = path.split("/");
    const { routes, balancers } = this.#cloud;
    if (collection === "routes")
      return nameOfRoute(
        this.#cloud,
        routes.list().find((one) => one.id === id) ?? (body as Partial<SimulatedRoute>),
      );
    for (const { id: known, labels } of balancers.list())
      this.#owners.set(known, labels[ownerLabel] ?? known);
    const labels = (body["labels"] ?? {}) as Body;
    return `load balancer of ${this.#owners.get(id) ?? labels[ownerLabel]}`;
  }
}

/** The calls from now on, in order. */
export function recordCalls(cloud: FakeCloud): readonly CloudCall[] {
  const calls: CloudCall[] = [];
  const subjects = new Subjects(cloud);
  const handle = cloud.handle.bind(cloud);
  cloud.handle = (query, token) => {
    const body = (query.body ?? {}) as Body;
    // Read before the call, because a deletion removes the owner.
    const about = subjects.of(query.path, body);
    const delivery = handle(query, token);
    const { status } = delivery.answer;
    if (query.method !== "GET") {
      const members = query.method === "PATCH" ? Object.keys(body).toSorted() : [];
      const refusal = status < 400 ? [] : [`(${status})`];
      calls.push({
        about,
        what: [verbs[query.method] ?? query.method, ...members, ...refusal].join(" "),
        by: token,
      });
    }
    return delivery;
  };
  return calls;
}
