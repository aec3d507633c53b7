// Which route tables are synced after a change of a Node.

import { expect, test } from "bun:test";
import {
  concernedTables,
  type ServingTable,
  type TargetAnswer,
} from "../../../src/controllers/route/tables.ts";
import type { RouteTarget } from "../../../src/provider/routes.ts";

const targetIn = (source: string): RouteTarget =>
  ({ node: "node-1", uid: "1", machine: { source, key: "1" }, addresses: [], internalIPs: [] }) as never;
const tableOf = (name: string): ServingTable =>
  ({ name, serves: ({ machine }: RouteTarget) => machine?.source === name }) as never;
const broken: ServingTable = {
  ...tableOf("broken"),
  serves: () => {
    throw new TypeError("no handles");
  },
};
const [east, west] = [tableOf("east"), tableOf("west")];

test.each<[string, readonly ServingTable[], readonly TargetAnswer[], readonly ServingTable[]]>([
  ["the table that serves the Node", [east, west], [targetIn("east")], [east]],
  ["both tables of a Node that moved", [east, west], [targetIn("east"), targetIn("west")], [east, west]],
  ["all tables while the machine is unknown", [east, west], [targetIn("east"), "unknown"], [east, west]],
  ["all tables if none serves the Node", [east, west], [targetIn("north")], [east, west]],
  [
    "a table whose provider throws, so that its sync reports the error",
    [east, broken],
    [targetIn("east")],
    [east, broken],
  ],
])("a change of a Node concerns %s", (_, tables, targets, expected) => {
  expect(concernedTables(tables, targets)).toEqual(expected);
});
