// How many requests Fairlead sends for a change, compared with the numbers in docs/clouds/rancher.md beside those of
// the Go manager.

import { expect, test } from "bun:test";
import { rowsInDocs } from "./docs.ts";
import { traceOfFairlead } from "./fairlead.ts";
import { fairlead, rowsOf } from "./table.ts";

test("sends as many requests as the docs state; else run: npm run test:clients -- rancher/go --write", async () => {
  const rows = rowsOf(fairlead, await traceOfFairlead());
  expect(rows).toHaveLength(4);
  expect(rowsInDocs(rows)).toEqual(rows);
});
