// The machines of the fake cloud as instances: one source, listed page by page, with lookups by id and name.

import { type Instance, type InstanceLookup, type InstanceSource, mapEntries, providerID } from "#ccm";
import type { ApiMachine, FakeApi } from "./api.ts";

function toInstance(machine: ApiMachine): Instance {
  return {
    key: machine.id,
    id: providerID(`fake://${machine.id}`),
    names: [machine.name],
    title: machine.name,
    state: machine.status,
    addresses: [
      { kind: "Hostname", value: machine.name },
      { kind: "InternalIP", value: machine.private_ip },
      { kind: "ExternalIP", value: machine.public_ip },
    ],
    type: machine.type,
    region: "nowhere",
    zone: machine.zone,
    cloudLabels: machine.labels,
    labels: { "fake.example/type": machine.type },
  };
}

export function machineSource(api: FakeApi, limit: number): InstanceSource {
  const lookup = (parameter: "ids" | "names", keyOf: (machine: ApiMachine) => string): InstanceLookup => ({
    limit,
    find: async (keys, call) => {
      // Every key gets a result; an empty list means that no such machine exists.
      const found = new Map<string, Instance[]>(keys.map((key) => [key, []]));
      for await (const page of api.machines(call, { [parameter]: keys.join(","), per_page: limit })) {
        for (const machine of page) found.get(keyOf(machine))?.push(toInstance(machine));
      }
      return found;
    },
  });
  return {
    name: "machines",
    keyOf: (id) => /^fake:\/\/(\d+)$/.exec(id)?.[1],
    list: (call) => mapEntries(api.machines(call), toInstance),
    lookups: { id: lookup("ids", ({ id }) => id), name: lookup("names", ({ name }) => name) },
  };
}
