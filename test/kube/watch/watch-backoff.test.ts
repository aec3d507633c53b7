import { expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { nodes } from "../../../src/kube/resources.ts";
import { json, openLines } from "../support/scripted.ts";
import { added, bookmark, listed, page, parameter, run } from "../support/watch-run.ts";

test("watch doubles its backoff per failure, respects Retry-After, and resets after progress", async () => {
  const times: number[] = [];
  const good = listed("5");
  let turn = 0;
  const { clock, finish } = run(() => {
    times.push(clock.monotonic());
    turn++;
    if (turn === 6) return json({}, 429, { "retry-after": "40" });
    if (turn === 7) return good.response;
    return json({}, 500);
  });
  await clock.advance(seconds(120));
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(800);
  for (const [index, gap] of gaps.slice(0, 5).entries()) {
    expect(gap).toBeGreaterThanOrEqual(400 * 2 ** index);
    expect(gap).toBeLessThanOrEqual(800 * 2 ** index);
  }
  expect(gaps[5]).toBe(40_000);
  good.end();
  const before = times.length;
  await clock.advance(seconds(0));
  await clock.advance(seconds(1));
  expect(times.length).toBeGreaterThanOrEqual(before + 2);
  await finish();
});

test("watch backs off when a server ends every watch without an event", async () => {
  let asked = 0;
  const first = listed("5");
  const { clock, finish } = run(() => {
    if (asked++ === 0) return first.response;
    const lines = openLines();
    lines.end();
    return lines.response;
  });
  await clock.advance(seconds(0));
  first.end();
  await clock.advance(seconds(60));
  expect(asked).toBeLessThan(12);
  await finish();
});

test("watch backs off when a server ends every watch after one event, until a watch lasts", async () => {
  const opened: number[] = [];
  let lasts = false;
  let version = 10;
  const { clock, steps, finish } = run((request) => {
    opened.push(clock.monotonic());
    if (parameter(request, "sendInitialEvents") === "true") {
      const first = listed("5");
      first.end();
      return first.response;
    }
    const lines = openLines();
    lines.send(added("a", String(version++)));
    // A watch that never pauses would not let virtual time pass.
    if (!lasts && opened.length < 500) lines.end();
    return lines.response;
  });
  await clock.advance(seconds(10));
  expect(opened.length).toBeLessThan(12);
  expect(steps.filter((step) => step === "failed unreachable").length).toBeGreaterThan(3);
  lasts = true;
  await clock.advance(seconds(31));
  const before = opened.length;
  expect(steps.at(-1)).toBe("changed a");
  await clock.advance(seconds(60));
  expect(opened).toHaveLength(before);
  await finish();
});

test("watch waits at most five minutes for a Retry-After of an hour", async () => {
  const { clock, seen, finish } = run(() => json({}, 503, { "retry-after": "3600" }));
  await clock.advance(minutes(4));
  expect(seen).toHaveLength(1);
  await clock.advance(minutes(1));
  expect(seen).toHaveLength(2);
  await finish();
});

test("a response to another request ends the watch's backoff after an outage, but only a few times without progress", async () => {
  let isAway = true;
  let works = false;
  const refused = () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
  const { api, clock, seen, steps, finish } = run((request) => {
    const isWatch = parameter(request, "watch") === "true";
    if (isAway || (isWatch && !works)) return refused();
    return isWatch ? new Response(new ReadableStream()) : json({ metadata: {}, spec: {} });
  });
  const watches = () => seen.filter((request) => parameter(request, "watch") === "true").length;
  const answerOne = () => api.get(nodes, { name: "n" }, new AbortController().signal).catch(() => undefined);
  await clock.advance(seconds(120));
  isAway = false;
  const before = watches();
  // While only a watch is rejected, it does not retry each time that another request succeeds.
  for (let index = 0; index < 100; index += 1) {
    await answerOne();
    await clock.advance(seconds(0.2));
  }
  expect(watches() - before).toBeLessThanOrEqual(5);
  isAway = true;
  works = true;
  await finish();
  expect(steps.filter((step) => step === "failed unreachable").length).toBeGreaterThan(5);
});

test("watch reconnects within a second of the first response after a long outage", async () => {
  let isAway = true;
  const lines = openLines();
  const { api, clock, steps, finish } = run((request) => {
    if (isAway) return Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
    return parameter(request, "watch") === "true" ? lines.response : json({ metadata: {}, spec: {} });
  });
  await clock.advance(seconds(10));
  isAway = false;
  await api.get(nodes, { name: "n" }, new AbortController().signal);
  lines.send(bookmark("7", true));
  await clock.advance(seconds(1.1));
  expect(steps.at(-1)).toBe("complete 7");
  await finish();
});

test("watch backs off when a server rejects every list as too old", async () => {
  let lists = 0;
  const { clock, finish } = run((request) => {
    if (parameter(request, "watch") !== "true") {
      lists += 1;
      return page(["a"], "5");
    }
    const isInitial = parameter(request, "sendInitialEvents") === "true";
    return json({ kind: "Status", code: isInitial ? 422 : 410 }, isInitial ? 422 : 410);
  });
  await clock.advance(seconds(10));
  expect(lists).toBeGreaterThan(2);
  expect(lists).toBeLessThan(40);
  await finish();
});
