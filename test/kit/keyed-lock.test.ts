import { expect, test } from "bun:test";
import { KeyedLock } from "../../src/index.ts";

const { signal: never } = new AbortController();

function scripted() {
  const locks = new KeyedLock();
  const log: string[] = [];
  const run = (key: string, name: string, signal = never) => {
    const end = Promise.withResolvers<void>();
    const done = locks.run(key, signal, async () => {
      log.push(`${name} begins`);
      await end.promise;
      log.push(`${name} ends`);
      return name;
    });
    return { done, end };
  };
  return { log, run };
}

test("tasks with the same key run one after another, and tasks with different keys at the same time", async () => {
  const { log, run } = scripted();
  const [a, b, c, other] = [run("x", "a"), run("x", "b"), run("x", "c"), run("y", "other")];
  for (const { end } of [other, c, b, a]) end.resolve();
  expect(await Promise.all([a.done, b.done, c.done, other.done])).toEqual(["a", "b", "c", "other"]);
  expect(log.filter((one) => !one.startsWith("other"))).toEqual(
    ["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
  expect(log.slice(0, 2)).toEqual(["a begins", "other begins"]);
});

test("a failure releases the lock of its key", async () => {
  const { run } = scripted();
  const [a, b] = [run("x", "a"), run("x", "b")];
  a.end.reject(new Error("503"));
  b.end.resolve();
  expect((await Promise.allSettled([a.done, b.done])).map(({ status }) => status)).toEqual([
    "rejected",
    "fulfilled",
  ]);
});

test("a task that is cancelled while it waits never runs, and the next task runs", async () => {
  const { log, run } = scripted();
  const controller = new AbortController();
  const [a, b, c] = [run("x", "a"), run("x", "b", controller.signal), run("x", "c")];
  const cancelled = b.done.catch((error: unknown) => error);
  controller.abort(new Error("not needed"));
  expect(await cancelled).toEqual(new Error("not needed"));
  for (const { end } of [a, c]) end.resolve();
  expect(await Promise.all([a.done, c.done])).toEqual(["a", "c"]);
  expect(log).toEqual(["a begins", "a ends", "c begins", "c ends"]);
});
