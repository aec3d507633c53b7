// The provider that README.md shows from the imports on. A test compares both, and runs it.

import {
  bearer,
  defineProvider,
  type InstanceSource,
  jsonApi,
  numberedPages,
  providerID,
  secret,
  url,
} from "#ccm";

type Server = Readonly<Record<"id" | "name" | "type" | "ip", string>>;

export const meadow = defineProvider({
  contract: 2,
  name: "meadow",
  schemes: ["meadow://"],
  config: {
    endpoint: url("URL of the API.", { fallback: "https://api.meadow.example", env: "MEADOW_ENDPOINT" }),
    token: secret("API token.", { required: true, env: "MEADOW_TOKEN" }),
  },
  connect: ({ endpoint, token }, { account }) => {
    const { transport } = account({ name: "meadow", fetch: async () => ({ value: token }), sign: bearer });
    const api = jsonApi({ base: endpoint, transport });
    const pages = numberedPages<{ next?: number }>(api, {
      query: { size: 50 },
      read: ({ next }) => ({ next }),
    });
    const toInstance = ({ id, name, type, ip }: Server) => ({
      ...{ key: id, id: providerID(`meadow://${id}`), names: [name], title: name, type },
      addresses: [{ kind: "InternalIP", value: ip } as const],
    });
    const servers: InstanceSource = {
      name: "servers",
      keyOf: (id) => /^meadow:\/\/(\w+)$/.exec(id)?.[1],
      list: async function* (call) {
        for await (const page of pages<Server>("servers", call)) yield page.map(toInstance);
      },
    };
    return { instances: { sources: [servers], matchBy: ["name"] } };
  },
});
