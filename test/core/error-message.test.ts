import { expect, test } from "bun:test";
import { describeError, messageOf } from "../../src/core/error-message.ts";

test("removes the runtime's advice to programmers from messages", () => {
  const text = "The socket connection was closed unexpectedly.";
  const advice = " For more information, pass `verbose: true` in the second argument to fetch()";
  const error = Object.assign(new Error(text + advice), { code: "ECONNRESET" });
  expect([messageOf(error), describeError(error)]).toEqual([text, `ECONNRESET ${text}`]);
  expect(messageOf("plain")).toBe("plain");
});
