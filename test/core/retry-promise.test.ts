// A manager promises another attempt in its messages, which a one-time command omits.

import { expect, test } from "bun:test";
import { messageOf, promiseOf, textOf } from "../../src/core/error-message.ts";
import { messageIn } from "../../src/core/problem.ts";
import { willRetry } from "../../src/core/retry-promise.ts";
import { KubeError } from "../../src/kube/errors/kube-error.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { RpcError } from "../../src/volumes/grpc/status.ts";

const text = "The cloud did not respond.";

test.each([
  new CloudError("unavailable", text, { operation: "GET /x", promise: willRetry }),
  new KubeError("timeout", text, { operation: "get nodes", promise: willRetry }),
  new RpcError("UNAVAILABLE", text, { promise: willRetry }),
])("a %p has its retry promise as data, and at the end of its message", (error) => {
  expect([textOf(error), messageOf(error), promiseOf(error)]).toEqual([
    text,
    `${text} ${willRetry}`,
    willRetry,
  ]);
});

test("an error without a retry promise has only its text", () => {
  for (const error of [new Error(text), text])
    expect([textOf(error), messageOf(error), promiseOf(error)]).toEqual([text, text, undefined]);
});

test("the text of a problem ends with the remedy and the retry promise", () => {
  expect(messageIn({ text, effect: "No route is created.", remedy: "Wait.", promise: willRetry })).toBe(
    `${text} No route is created. Wait. ${willRetry}`,
  );
});
