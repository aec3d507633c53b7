// The machines of Quarry: one source per region.

import { type Instance, type InstanceSource, pagesByCursor, providerID } from "#ccm";
import type { ApiMachine, Region } from "./api.ts";

export function machineSource({ name: region, api }: Region): InstanceSource {
  const toInstance = ({ id, name, ip }: ApiMachine): Instance => ({
    key: id,
    id: providerID(`quarry://${region}/${id}`),
    names: [name],
    title: `${name} (${region})`,
    state: "running",
    addresses: [{ kind: "InternalIP", value: ip }],
    type: "",
    region,
  });
  return {
    name: region,
    keyOf: (id) =>
      id.startsWith(`quarry://${region}/`) ? /^[^/]+\/\/[^/]+\/(\w+)$/.exec(id)?.[1] : undefined,
    list: async function* (call) {
      const operation = "ListMachines";
      const pages = pagesByCursor<ApiMachine>({ operation }, async (after) => {
        type Body = { readonly machines?: readonly ApiMachine[]; readonly next?: string };
        const request = { operation, method: "GET", path: "/machines", query: { after } } as const;
        const { machines, next } = await api.call<Body>(request, call);
        return { items: machines, next };
      });
      for await (const page of pages) yield page.map(toInstance);
    },
  };
}
