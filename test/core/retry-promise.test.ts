// What a command that ends leaves out of the messages of a manager.

import { expect, test } from "bun:test";
import {
  keepsRetrying,
  willRetry,
  willRetrySoon,
  willRetryThen,
  withoutRetryPromise,
} from "../../src/core/retry-promise.ts";

test.each([
  [`The cloud did not respond. ${willRetry}`, "The cloud did not respond."],
  [`It was not sent. ${willRetryThen}`, "It was not sent."],
  [`It was not sent. ${willRetrySoon}`, "It was not sent."],
  [`It is not running. ${keepsRetrying}`, "It is not running."],
  [`It was too long. ${willRetry} Check for a proxy.`, "It was too long. Check for a proxy."],
  [`The listing is discarded; ${willRetry}`, "The listing is discarded."],
  [
    `The state is not known (It was not sent. ${willRetryThen.slice(0, -1)}).`,
    "The state is not known (It was not sent.).",
  ],
  ["A request failed.", "A request failed."],
])("leaves the promise to retry out of %p", (message, left) => {
  expect(withoutRetryPromise(message)).toBe(left);
});
