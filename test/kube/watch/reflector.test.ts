import { describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { nodes } from "../../../src/kube/resources.ts";
import { Reflector } from "../../../src/kube/watch/reflector.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { json, openLines, scripted } from "../support/scripted.ts";
import { added, bookmark, inOrder, listed } from "../support/watch-run.ts";

test("a reflector does not stall when a server sends no bookmarks and nothing changes", async () => {
  const server = scripted(() => listed("5").response);
  const stop = new AbortController();
  const problems: string[] = [];
  const reflector = new Reflector<Node>({
    api: server.api,
    resource: nodes,
    clock: server.clock,
    random: seededRandom(1),
    onProblem: ({ kind }) => problems.push(kind),
  });
  const ended = reflector.run(stop.signal);
  await server.clock.advance(minutes(30));
  expect([reflector.idle(), reflector.age()].every((each) => Number(each) <= seconds(151))).toBe(true);
  expect(problems).toEqual([]);
  stop.abort();
  await ended;
});

test("a reflector keeps its objects while the server is unavailable, and reports their age and the reason", async () => {
  const first = listed("5");
  const { api, clock } = scripted(
    inOrder(
      () => first.response,
      () => json({}, 503),
    ),
  );
  const reflector = new Reflector({ api, resource: nodes, clock, random: seededRandom(1) });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  await clock.advance(seconds(0));
  expect([reflector.store.synced, reflector.store.size, reflector.age(), reflector.problem]).toEqual([
    true,
    1,
    seconds(0),
    undefined,
  ]);
  first.end();
  await clock.advance(seconds(20));
  expect([reflector.store.size, reflector.age(), reflector.problem?.kind]).toEqual([
    1,
    seconds(20),
    "server",
  ]);
  expect(JSON.stringify(reflector.store.get("a"))).not.toContain("big");
  stop.abort();
  await running;
});

/** A reflector whose server responds to each watch as the test specifies; an unanswered watch hangs. */
const reflecting = (answers: readonly (() => Response)[]) => {
  const { api, clock, seen } = scripted(inOrder(...answers));
  const reflector = new Reflector<Node>({ api, resource: nodes, clock, random: seededRandom(1) });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  const isListedSince = async (since: number): Promise<boolean> => {
    let isListed = false;
    reflector.whenListed(since, stop.signal).then(
      () => {
        isListed = true;
      },
      () => undefined,
    );
    await clock.advance(seconds(0.1));
    return isListed;
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  return { reflector, clock, seen, isListedSince, end };
};

describe("a reflector that must prove that its objects are current [N23]", () => {
  test("a reflector that must be current lists again if its last list began earlier, although the stream works [N23]", async () => {
    const second = openLines();
    const { clock, seen, reflector, isListedSince, end } = reflecting([
      () => listed("5", added("b", "6"), bookmark("9")).response,
      () => second.response,
    ]);
    await clock.advance(seconds(10));
    expect(await isListedSince(clock.monotonic())).toBe(false);
    expect([seen.length, reflector.store.size]).toEqual([2, 2]);
    second.send(added("c", "7"), bookmark("9", true));
    await clock.advance(seconds(1));
    expect([...reflector.store.list()].map(({ metadata }) => metadata.name)).toEqual(["c"]);
    await end();
  });

  test("a reflector that must be current does not repeat a list that began in time", async () => {
    const { clock, seen, isListedSince, end } = reflecting([() => listed("5").response]);
    expect(await isListedSince(clock.monotonic())).toBe(true);
    expect(seen).toHaveLength(1);
    await end();
  });

  test("a reflector that must be current does not wait for the backoff of a failing watch", async () => {
    const { clock, seen, isListedSince, end } = reflecting([
      ...Array.from({ length: 5 }, () => () => json({}, 500)),
      () => listed("7").response,
    ]);
    await clock.advance(seconds(12.1));
    expect(seen).toHaveLength(5);
    expect(await isListedSince(clock.monotonic())).toBe(true);
    await end();
  });
});
