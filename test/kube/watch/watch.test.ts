import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { json, openLines } from "../support/scripted.ts";
import {
  added,
  bookmark,
  deleted,
  errorEvent,
  inOrder,
  listed,
  parameter,
  run,
} from "../support/watch-run.ts";

test("watch requests a streaming list and receives changes on the same connection", async () => {
  const lines = openLines();
  const { steps, clock, seen, finish } = run(() => lines.response);
  lines.send(
    added("a", "3"),
    added("b", "2"),
    bookmark("9", true),
    added("c", "10"),
    deleted("a", "11"),
    bookmark("12"),
  );
  await clock.advance(seconds(0));
  expect(steps).toEqual([
    "begin",
    "initial a",
    "initial b",
    "complete 9",
    "changed c",
    "deleted a",
    "bookmark",
  ]);
  expect(parameter(seen[0], "sendInitialEvents")).toBe("true");
  expect(parameter(seen[0], "resourceVersionMatch")).toBe("NotOlderThan");
  const asked = Number(parameter(seen[0], "timeoutSeconds"));
  expect(asked >= 240 && asked <= 290).toBe(true);
  await finish();
  expect(lines.isCancelled()).toBe(true);
});

test("watch lists again immediately after a 410, as an event or as a status", async () => {
  const first = listed("5");
  const resumed = openLines();
  const second = listed("7");
  const third = listed("9");
  const { steps, clock, finish } = run(
    inOrder(
      () => first.response,
      () => resumed.response,
      () => second.response,
      () => json({}, 410),
      () => third.response,
    ),
  );
  first.end();
  resumed.send(errorEvent(410));
  await clock.advance(seconds(0));
  second.end();
  await clock.advance(seconds(0));
  expect(steps.filter((step) => !step.startsWith("initial"))).toEqual([
    "begin",
    "complete 5",
    "resumed",
    "begin",
    "complete 7",
    "begin",
    "complete 9",
  ]);
  await finish();
});

test.each<[string, (lines: ReturnType<typeof openLines>) => void]>([
  ["the end of the stream", (lines) => lines.end()],
  ["a broken connection", (lines) => lines.fail(Object.assign(new Error("x"), { code: "ECONNRESET" }))],
  [
    "a cut in the middle of an object",
    (lines) => {
      lines.raw('{"type":"ADD');
      lines.end();
    },
  ],
])("watch continues from the last bookmark after %s", async (_, breakIt) => {
  const first = listed("5", bookmark("8"));
  const second = openLines();
  const { clock, seen, steps, finish } = run(
    inOrder(
      () => first.response,
      () => second.response,
    ),
  );
  await clock.advance(seconds(0));
  breakIt(first);
  await clock.advance(seconds(1));
  expect(parameter(seen[1], "resourceVersion")).toBe("8");
  expect(steps.filter((step) => step === "begin")).toHaveLength(1);
  await finish();
});

test("watch lists again without reporting a failure after a silence longer than the bookmark interval [N23]", async () => {
  const first = listed("5");
  const second = listed("3");
  const { clock, seen, steps, finish } = run(
    inOrder(
      () => first.response,
      () => second.response,
      () => openLines().response,
    ),
  );
  await clock.advance(seconds(149));
  expect(seen).toHaveLength(1);
  await clock.advance(seconds(3));
  expect([seen.length, parameter(seen[1], "sendInitialEvents")]).toEqual([2, "true"]);
  await clock.advance(seconds(151));
  expect([seen.length, parameter(seen[2], "sendInitialEvents")]).toEqual([3, "true"]);
  expect(steps.filter((step) => !step.startsWith("initial"))).toEqual([
    "begin",
    "complete 5",
    "begin",
    "complete 3",
    "begin",
  ]);
  await finish();
});

test("watch counts a silence over all connections, because an accepted connection proves nothing [N23]", async () => {
  const first = listed("5");
  const second = openLines();
  const { clock, seen, finish } = run(
    inOrder(
      () => first.response,
      () => second.response,
      () => listed("6").response,
    ),
  );
  await clock.advance(seconds(60));
  first.end();
  await clock.advance(seconds(1));
  expect([seen.length, parameter(seen[1], "resourceVersion")]).toEqual([2, "5"]);
  await clock.advance(seconds(90));
  expect([seen.length, parameter(seen[2], "sendInitialEvents")]).toEqual([3, "true"]);
  await finish();
});

test("watch reports a failure when the list after a silence fails", async () => {
  const first = listed("5");
  const { clock, steps, finish } = run(
    inOrder(
      () => first.response,
      () => {
        throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
    ),
  );
  await clock.advance(seconds(152));
  expect(steps.slice(2, 5)).toEqual(["complete 5", "begin", "failed unreachable"]);
  await finish();
});

test("after a failure, watch counts a reopened connection as recovered only once the server sends something", async () => {
  const first = listed("5");
  const later = openLines();
  const { clock, steps, finish } = run(
    inOrder(
      () => first.response,
      () => json({}, 500),
      () => later.response,
    ),
  );
  first.end();
  await clock.advance(seconds(10));
  expect(steps.slice(-2)).toEqual(["complete 5", "failed server"]);
  later.send(bookmark("6"));
  await clock.advance(seconds(1));
  expect(steps.at(-1)).toBe("bookmark");
  await finish();
});

test("watch lists again after a line that is not JSON", async () => {
  const first = listed("5");
  const { clock, steps, finish } = run(
    inOrder(
      () => first.response,
      () => listed("7").response,
    ),
  );
  first.raw("<html>\n");
  await clock.advance(seconds(2));
  expect(steps).toEqual([
    "begin",
    "initial a",
    "complete 5",
    "failed unexpected",
    "begin",
    "initial a",
    "complete 7",
  ]);
  await finish();
});
