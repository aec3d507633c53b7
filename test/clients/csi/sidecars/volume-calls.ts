// Records the requests that change volumes of a simulated cloud.

import type { FakeCloud } from "../../../../providers/fake/simulator/fake-cloud.ts";

export interface VolumeCall {
  /** The name of the volume. */
  readonly volume: string;
  /** Such as `attach`; with the status if it was refused. */
  readonly what: string;
}

function changeOf(method: string, { machine }: { readonly machine?: unknown }): string {
  if (method === "POST") return "create";
  if (method === "DELETE") return "delete";
  if (machine === undefined) return "expand";
  return machine === null ? "detach" : "attach";
}

/** The calls from now on, in their order. */
export function recordVolumeCalls(cloud: FakeCloud): readonly VolumeCall[] {
  const calls: VolumeCall[] = [];
  const handle = cloud.handle.bind(cloud);
  cloud.handle = (query, token) => {
    const [, collection, id] = query.path.split("/");
    const body = (query.body ?? {}) as { readonly name?: string; readonly machine?: unknown };
    // Before the call, because a deletion removes the name.
    const name = cloud.volumes.list().find((volume) => volume.id === id)?.name;
    const delivery = handle(query, token);
    if (collection === "volumes" && query.method !== "GET") {
      const { status } = delivery.answer;
      const refusal = status < 400 ? "" : ` (${status})`;
      const what = changeOf(query.method, body) + refusal;
      calls.push({ volume: name ?? body.name ?? id ?? "", what });
    }
    return delivery;
  };
  return calls;
}
