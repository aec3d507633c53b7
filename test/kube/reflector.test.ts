import { expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { Node } from "../../src/kube/objects.ts";
import { nodes } from "../../src/kube/resources.ts";
import { Reflector } from "../../src/kube/watch/reflector.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { json, openLines, scripted } from "./support/scripted.ts";
import { inOrder, listed } from "./support/watch-run.ts";

test("a reflector does not stall when a server sends no bookmarks and nothing changes", async () => {
  const first = listed("5");
  const server = scripted(
    inOrder(
      () => first.response,
      () => openLines().response,
    ),
  );
  const stop = new AbortController();
  const problems: string[] = [];
  const reflector = new Reflector<Node>({
    ...{ api: server.api, resource: nodes, clock: server.clock, random: seededRandom(1) },
    onProblem: ({ kind }) => problems.push(kind),
  });
  const ended = reflector.run(stop.signal);
  await server.clock.advance(minutes(30));
  expect([reflector.idle(), reflector.age()].every((each) => Number(each) <= seconds(101))).toBe(true);
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
