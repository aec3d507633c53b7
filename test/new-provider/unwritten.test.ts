import { expect, test } from "bun:test";
import { unwritten } from "../../scripts/new-provider/template/provider/unwritten.ts";

test("what is not written yet is told in one line, and later errors keep their stacks", () => {
  const limit = Error.stackTraceLimit;
  let reported: unknown;
  try {
    unwritten("api.ts", "3. Speak to the cloud");
  } catch (error) {
    reported = error;
  }
  const text =
    'api.ts is not written yet: see "3. Speak to the cloud" in docs/write-a-provider.md of Fairlead.';
  expect(reported).toMatchObject({ message: text });
  expect((reported as Error).stack ?? "").not.toContain(" at ");
  expect(Error.stackTraceLimit).toBe(limit);
});
