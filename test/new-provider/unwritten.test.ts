import { expect, test } from "bun:test";
import { unwritten } from "../../scripts/new-provider/template/provider/unwritten.ts";

test("unwritten code fails with one line, and later errors keep their stack traces", () => {
  const limit = Error.stackTraceLimit;
  let caught: unknown;
  try {
    unwritten("api.ts", "3. Call the API");
  } catch (error) {
    caught = error;
  }
  const text = 'api.ts is not written yet: see "3. Call the API" in Fairlead\'s docs/write-a-provider.md.';
  expect(caught).toMatchObject({ message: text });
  expect((caught as Error).stack ?? "").not.toContain(" at ");
  expect(Error.stackTraceLimit).toBe(limit);
});
