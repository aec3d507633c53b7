// Records the requests that change volumes and snapshots of a simulated cloud.

import type { FakeCloud } from "../../../../providers/fake/simulator/fake-cloud.ts";

export interface CloudCall {
  readonly kind: "volume" | "snapshot";
  /** The name of the volume or snapshot. */
  readonly name: string;
  /** The operation, such as `attach`, with the status if it was rejected. */
  readonly what: string;
}

const kinds: Readonly<Record<string, CloudCall["kind"]>> = { volumes: "volume", snapshots: "snapshot" };

function changeOf(method: string, { machine }: { readonly machine?: unknown }): string {
  if (method === "POST") return "create";
  if (method === "DELETE") return "delete";
  if (machine === undefined) return "expand";
  return machine === null ? "detach" : "attach";
}

/** The calls from now on, in order. */
export function recordCloudCalls(cloud: FakeCloud): readonly CloudCall[] {
  const calls: CloudCall[] = [];
  const handle = cloud.handle.bind(cloud);
  cloud.handle = (query, token) => {
    const [, collection = "", id] = query.path.split("/");
    const kind = kinds[collection];
    const body = (query.body ?? {}) as { readonly name?: string; readonly machine?: unknown };
    // Read before the call, because a deletion removes the name.
    const existing = kind === "snapshot" ? cloud.snapshots.list() : cloud.volumes.list();
    const name = existing.find((one) => one.id === id)?.name;
    const delivery = handle(query, token);
    if (kind !== undefined && query.method !== "GET") {
      const { status } = delivery.answer;
      const refusal = status < 400 ? "" : ` (${status})`;
      const what = changeOf(query.method, body) + refusal;
      calls.push({ kind, name: name ?? body.name ?? id ?? "", what });
    }
    return delivery;
  };
  return calls;
}
