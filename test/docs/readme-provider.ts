// The provider in README.md from the imports on. A test compares both, and runs it.

import { bearer, type Call, defineProvider, jsonApi, numberedPages, providerID, secret, url } from "#ccm";

type Server = Readonly<Record<"id" | "name" | "type" | "ip", string>>;

const toInstance = ({ id: key, name, type, ip }: Server) => {
  const addresses = [{ kind: "InternalIP", value: ip } as const];
  return { key, id: providerID(`meadow://${key}`), names: [name], title: name, type, addresses };
};

export const meadow = defineProvider({
  contract: 3,
  name: "meadow",
  schemes: ["meadow://"],
  config: {
    endpoint: url("URL of the API.", { fallback: "https://api.meadow.example", env: "MEADOW_ENDPOINT" }),
    token: secret("API token.", { required: true, env: "MEADOW_TOKEN" }),
  },
  connect: ({ endpoint, token }, { account }) => {
    const { transport } = account({ name: "meadow", fetch: async () => ({ value: token }), sign: bearer });
    const api = jsonApi({ base: endpoint, transport });
    const read = ({ next }: { next?: number }) => ({ next });
    const pages = numberedPages(api, { query: { size: 50 }, read });
    async function* list(call: Call) {
      for await (const page of pages<Server>("servers", call)) yield page.map(toInstance);
    }
    const keyOf = (id: string) => /^meadow:\/\/(\w+)$/.exec(id)?.[1];
    return { instances: { sources: [{ name: "servers", keyOf, list }], matchBy: ["name"] } };
  },
});
