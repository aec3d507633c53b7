// The machines of one zone as instances: one source, with lookups by id and label.

import { type Call, type Instance, type InstanceSource, type LookupResult, providerID, seconds } from "#ccm";
import type { ApiMachine, ZoneApi } from "./api.ts";

const states = { up: "running", down: "stopped", leaving: "terminating" } as const;

export function machinesOf({ zone, machines }: ZoneApi): InstanceSource {
  const toInstance = ({ id, label, power, shape, address }: ApiMachine): Instance => ({
    key: id,
    id: providerID(`tidewater://${zone}/${id}`),
    names: [label],
    title: label,
    state: states[power],
    handles: { address },
    addresses: [
      { kind: "Hostname", value: label },
      { kind: "InternalIP", value: address },
    ],
    type: shape,
    zone,
  });
  const lookup = (by: "id" | "label") => ({
    limit: 5,
    find: async (keys: readonly string[], call: Call): Promise<LookupResult> => {
      const found = new Map<string, Instance[]>(keys.map((key) => [key, []]));
      for await (const page of machines(call, { [by]: keys })) {
        for (const machine of page) found.get(machine[by])?.push(toInstance(machine));
      }
      return found;
    },
  });
  return {
    name: zone,
    keyOf: (id) => new RegExp(`^tidewater://${zone}/(m-\\d{4})$`).exec(id)?.[1],
    list: async function* (call) {
      for await (const page of machines(call)) yield page.map(toInstance);
    },
    lookups: { id: lookup("id"), name: lookup("label") },
    readsLag: seconds(2),
  };
}
