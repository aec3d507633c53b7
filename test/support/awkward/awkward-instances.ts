// Instances of the awkward cloud: one source per site, each with its own token, and lookups by one name at a time. Old ids do not
// contain the site, and the second site's listing does not contain the power state.

import { type Context, type Instance, type InstanceSource, jsonApi, pagesByCursor, providerID } from "#ccm";
import type { AwkwardMachine } from "./awkward-cloud.ts";

export function readFault(body: unknown) {
  const { fault } = (body ?? {}) as { readonly fault?: unknown };
  return typeof fault === "string" ? { message: fault } : undefined;
}

interface Answer {
  readonly machines?: readonly AwkwardMachine[];
  readonly next?: string;
}

const states = { on: "running", off: "stopped", leaving: "terminating" } as const;

export const site = (
  name: string,
  { account }: Context,
  { listsState = true }: { readonly listsState?: boolean } = {},
): InstanceSource => {
  const { transport } = account({
    name,
    fetch: async () => ({ value: `${name}-session` }),
    sign: (request, session) => ({ ...request, headers: { ...request.headers, "x-session": session } }),
  });
  const api = jsonApi({
    base: "https://awkward.example",
    transport,
    readError: readFault,
  });

  const toInstance = (machine: AwkwardMachine): Instance => ({
    key: machine.serial,
    id: providerID(`awk://${name}/${machine.serial}`),
    names: [machine.name],
    title: `${machine.name} (${name})`,
    uuids: [`SERIAL-${machine.serial}`],
    state: states[machine.power],
    addresses: [{ kind: "InternalIP", value: `10.9.0.${machine.serial}` }],
    type: "",
    region: name,
  });

  const toListed = (machine: AwkwardMachine): Instance => {
    const { state, ...rest } = toInstance(machine);
    return { ...rest, state: listsState ? state : undefined };
  };

  const ask = (
    operation: string,
    path: string,
    query: { after?: string | undefined },
    call: Parameters<typeof api.call>[1],
  ) => api.call<Answer>({ operation, method: "GET", path, query }, call);

  return {
    name,
    keyOf: (id) => new RegExp(`^(?:awk://${name}/|awkold://)(\\w+)$`).exec(id)?.[1],
    list: async function* (call) {
      const operation = "ListMachines";
      const pages = pagesByCursor<AwkwardMachine>({ operation }, async (after) => {
        const { machines, next } = await ask(operation, `/${name}/machines`, { after }, call);
        return { items: machines, next };
      });
      for await (const page of pages) yield page.map(toListed);
    },
    lookups: {
      id: {
        limit: 2,
        find: async (keys, call) => {
          const { machines } = await ask("GetMachines", `/${name}/serials/${keys.join(",")}`, {}, call);
          if (machines === undefined) return new Map();
          const found = Map.groupBy(machines.map(toInstance), ({ key }) => key);
          return new Map(keys.map((key) => [key, found.get(key) ?? []]));
        },
      },
      name: {
        limit: 1,
        find: async ([asked = ""], call) => {
          const { machines } = await ask(
            "FindMachine",
            `/${name}/machines/${encodeURIComponent(asked)}`,
            {},
            call,
          );
          // A response without a list is not a result; it does not mean that there are no machines.
          return machines === undefined ? new Map() : new Map([[asked, machines.map(toInstance)]]);
        },
      },
    },
  };
};
