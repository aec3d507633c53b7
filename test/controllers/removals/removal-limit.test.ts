import { expect, test } from "bun:test";
import { allowedRemovals, parseRemovalLimit } from "../../../src/controllers/removal-limit.ts";

test.each<[string, number, number]>([
  ["20%", 5, 2],
  ["20%", 10, 2],
  ["20%", 5000, 1000],
  ["0%", 5000, 2],
  ["20%,min=0", 4, 0],
  ["20%,min=5", 10, 5],
  ["20%,max=50", 5000, 50],
  ["20%,min=1,max=3", 5000, 3],
  ["5", 10, 5],
  ["5", 5000, 5],
  ["0", 5000, 0],
])("the limit %s of %i allows %i", (text, total, allowed) => {
  const limit = parseRemovalLimit(text);
  expect(limit === undefined || limit === "off" ? limit : allowedRemovals(limit, total)).toBe(allowed);
});

test.each(["", "20", "5"])("the limit %p is no percentage", (text) => {
  expect(parseRemovalLimit(`${text}%%`)).toBeUndefined();
});

test.each([
  "101%",
  "20 %",
  "20%, min=2",
  "20%,max=5,min=2",
  "20%,min=5,max=2",
  "20%,atleast=2",
  "-1",
  "1.5",
  "5,min=2",
  "Off",
  "5000000",
])("the limit %p is refused", (text) => {
  expect(parseRemovalLimit(text)).toBeUndefined();
});

test("the limit off is off", () => {
  expect(parseRemovalLimit("off")).toBe("off");
});
