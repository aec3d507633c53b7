// Tests that the provider in README.md is complete, compiles and works.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { collect, Lab } from "../../src/testing/index.ts";
import { meadow } from "./readme-provider.ts";

const read = (path: string): string => readFileSync(join(import.meta.dir, "../..", path), "utf8");

test("README.md shows the tested provider", () => {
  const [, shown = ""] = /```ts\n([\s\S]*?)```/.exec(read("README.md")) ?? [];
  const file = read("test/docs/readme-provider.ts");
  expect(shown).toBe(file.slice(file.indexOf("import ")));
  expect(shown.split("\n").length).toBeLessThanOrEqual(31);
});

test("the provider in README.md lists all pages of servers as instances, with its token", async () => {
  const servers = ["a", "b", "c"].map((id) => ({ id, name: `node-${id}`, type: "small", ip: "10.0.0.1" }));
  const seen: (string | null)[] = [];
  const lab = new Lab({
    definition: meadow,
    config: { token: "secret" },
    listingRequests: () => servers.length,
    simulate: () => ({
      transport: async (request) => {
        seen.push(new Headers(request.headers).get("authorization"));
        const page = Number(new URL(request.url).searchParams.get("page"));
        const next = page < servers.length ? page + 1 : undefined;
        return Response.json({ servers: servers.slice(page - 1, page), next });
      },
      state: () => servers,
      addMachine: (name) => name,
      removeMachine: () => undefined,
    }),
  });
  const [source] = lab.cloud.instances?.sources ?? [];
  if (source?.list === undefined) throw new Error("The provider has no source.");
  const { list, keyOf } = source;
  const pages = await lab.run((call) => collect(list(call)));
  expect(pages.flat().map(({ id }) => String(id))).toEqual(["meadow://a", "meadow://b", "meadow://c"]);
  expect(keyOf("meadow://a")).toBe("a");
  expect(seen).toEqual(Array(3).fill("Bearer secret"));
});
