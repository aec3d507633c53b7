import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { faultPositions, readFaultKinds } from "../../../src/testing/conformance/faulty-transport.ts";

const requestsOf = (...operations: readonly string[]) => operations.map((operation) => ({ operation }));

test.each([
  ["one operation", requestsOf("GET /a", "GET /a", "GET /a")],
  ["fewer operations than kinds", requestsOf("GET /a", "POST /b", "GET /a")],
  ["more operations than kinds", requestsOf(..."abcdefgh".split("").map((name) => `GET /${name}`), "GET /a")],
])("each operation fails, and each kind of fault happens: %s", (_, requests) => {
  const byKind = readFaultKinds.map((kind) => faultPositions(requests, kind));
  const failed = byKind.flat().map((position) => requests[position]?.operation);
  expect(new Set(failed)).toEqual(new Set(requests.map(({ operation }) => operation)));
  expect(byKind.every((positions) => positions.length > 0)).toBe(true);
  if (runsAllTests) expect(byKind).toEqual(readFaultKinds.map(() => [...requests.keys()]));
});

test("no fault position exists without a request", () => {
  expect(readFaultKinds.map((kind) => faultPositions([], kind))).toEqual(readFaultKinds.map(() => []));
});
