import { expect, test } from "bun:test";
import { nextReading, type Reading } from "../../../../src/controllers/service/observed/reading.ts";

const targets = { outdates: ["targets"] };
const both = { outdates: ["targets", "listeners"] };
const removal = {};
const shared = { restsOnListing: true } as const;

test.each<[string, Parameters<typeof nextReading>[0], Reading, Reading | undefined]>([
  ["nothing without steps", [], [], undefined],
  ["what a step changes", [targets], [], ["targets"]],
  ["nothing if that was read", [targets], ["targets", "listeners"], undefined],
  ["all if the new plan changes other parts", [targets, both], ["targets"], "all"],
  ["all for a step that names no parts", [targets, removal], [], "all"],
  ["nothing more for it if all was read", [removal], "all", undefined],
  ["a listing for a step that depends on other load balancers", [targets, shared], "all", "after listing"],
  ["nothing after a recent listing", [shared, removal], "after listing", undefined],
])("reads %s", (_, steps, read, expected) => {
  expect(nextReading(steps, read)).toEqual(expected);
});
