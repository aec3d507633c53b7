// docs/written-state.md names each resource that Fairlead may write, and each of its own annotations.

import { expect, test } from "bun:test";
import { clusterGrants, leaseGrants } from "../../src/app/permissions.ts";
import * as wellKnown from "../../src/controllers/well-known.ts";
import { unmountedKey } from "../../src/volumes/controller/names.ts";

const page = await Bun.file(`${import.meta.dir}/../../docs/written-state.md`).text();
const writing = ["create", "update", "patch", "delete"];

test("the page about written state lists each resource that Fairlead may write", () => {
  const written = [...clusterGrants, ...leaseGrants("lease")].filter(({ verbs }) =>
    Object.keys(verbs).some((verb) => writing.includes(verb)),
  );
  const resources = [...new Set(written.map(({ resource }) => resource))];
  expect(resources.length).toBeGreaterThan(15);
  expect(resources.filter((resource) => !page.includes(`\`${resource}\``))).toEqual([]);
});

test("the page about written state lists each annotation of Fairlead", () => {
  const own = [...Object.values(wellKnown), unmountedKey].filter(
    (value): value is string => typeof value === "string" && value.startsWith(wellKnown.ownPrefix),
  );
  const names = own.filter((name) => name !== wellKnown.ownPrefix);
  expect(names.length).toBeGreaterThan(4);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
