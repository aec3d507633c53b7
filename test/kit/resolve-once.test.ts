import { expect, test } from "bun:test";
import { type Call, resolveOnce } from "../../src/index.ts";

const callWith = (signal: AbortSignal = new AbortController().signal): Call => ({
  signal,
  urgency: "refresh",
});

function scripted() {
  const requests: { readonly call: Call; readonly answer: PromiseWithResolvers<string> }[] = [];
  const read = resolveOnce((call) => {
    const answer = Promise.withResolvers<string>();
    requests.push({ call, answer });
    return answer.promise;
  });
  return { requests, read };
}

test("concurrent callers share one request, and the value is kept", async () => {
  const { requests, read } = scripted();
  const both = Promise.all([read(callWith()), read(callWith())]);
  requests[0]?.answer.resolve("7");
  expect(await both).toEqual(["7", "7"]);
  expect(await read(callWith())).toBe("7");
  expect(requests).toHaveLength(1);
});

test("a failure reaches all callers and is not kept", async () => {
  const { requests, read } = scripted();
  const both = Promise.allSettled([read(callWith()), read(callWith())]);
  requests[0]?.answer.reject(new Error("503"));
  expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const again = read(callWith());
  requests[1]?.answer.resolve("7");
  expect(await again).toBe("7");
});

test("a cancelled caller does not cancel the request of other callers", async () => {
  const { requests, read } = scripted();
  const first = new AbortController();
  const cancelled = read(callWith(first.signal)).catch((error: unknown) => error);
  const other = read(callWith());
  first.abort(new Error("not needed"));
  expect(await cancelled).toEqual(new Error("not needed"));
  expect(requests[0]?.call.signal.aborted).toBe(false);
  requests[0]?.answer.resolve("7");
  expect(await other).toBe("7");
  expect(requests).toHaveLength(1);
});

test("the request is cancelled when no caller is left, and the next call reads again", async () => {
  const { requests, read } = scripted();
  const only = new AbortController();
  const cancelled = read(callWith(only.signal)).catch((error: unknown) => error);
  only.abort(new Error("not needed"));
  await cancelled;
  expect(requests[0]?.call.signal.aborted).toBe(true);
  requests[0]?.answer.reject(new Error("aborted"));
  const next = read(callWith());
  requests[1]?.answer.resolve("7");
  expect(await next).toBe("7");
});

test("an already cancelled call makes no request", async () => {
  const { requests, read } = scripted();
  await expect(read(callWith(AbortSignal.abort(new Error("gone"))))).rejects.toThrow("gone");
  expect(requests).toEqual([]);
});
