import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { Node } from "../../src/kube/objects.ts";
import { nodes } from "../../src/kube/resources.ts";
import { Reflector } from "../../src/kube/watch/reflector.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import type { WatchStep } from "../../src/kube/watch/watch-step.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import { type Answer, json, openLines, scripted } from "./support/scripted.ts";

const raw = (name: string, version: string) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: version, managedFields: [{}] },
  spec: {},
  status: { images: [{ names: ["big"] }] },
});
const added = (name: string, version: string) => ({ type: "ADDED", object: raw(name, version) });
const deleted = (name: string, version: string) => ({ type: "DELETED", object: raw(name, version) });
const bookmark = (version: string, end = false) => ({
  type: "BOOKMARK",
  object: {
    metadata: { resourceVersion: version, annotations: end ? { "k8s.io/initial-events-end": "true" } : {} },
  },
});
const errorEvent = (code: number) => ({ type: "ERROR", object: { kind: "Status", code, message: "no" } });
const page = (names: readonly string[], version: string, next?: string) =>
  json({
    metadata: { resourceVersion: version, continue: next },
    items: names.map((name) => raw(name, "1")),
  });

const describeStep = (step: WatchStep<Node>): string => {
  switch (step.type) {
    case "object":
      return `${step.initial ? "initial" : "changed"} ${step.object.metadata.name}`;
    case "deleted":
      return `deleted ${step.object.metadata.name}`;
    case "failed":
      return `failed ${step.error.kind}`;
    case "complete":
      return `complete ${step.resourceVersion}`;
    default:
      return step.type;
  }
};

const parameter = (request: TransportRequest | undefined, name: string): string | null =>
  request === undefined ? null : new URL(request.url).searchParams.get(name);

const run = (answer: Answer) => {
  const server = scripted(answer);
  const stop = new AbortController();
  const steps: string[] = [];
  const options = { api: server.api, resource: nodes, clock: server.clock, random: seededRandom(1) };
  const ended = (async () => {
    for await (const step of watch(options, stop.signal)) steps.push(describeStep(step));
  })();
  const finish = async (): Promise<void> => {
    stop.abort();
    await ended;
    expect([server.requestLimit.inFlight, server.clock.pending]).toEqual([0, 0]);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  };
  return { ...server, steps, finish };
};

/** Answers request by request; the last answer repeats. */
const inOrder = (...answers: readonly Answer[]): Answer => {
  let turn = 0;
  return (request, signal) => {
    const answer = answers[Math.min(turn++, answers.length - 1)];
    if (answer === undefined) throw new Error("No answer.");
    return answer(request, signal);
  };
};

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

test.each([400, 403, 422])(
  "watch falls back to paged lists on %i and watches from their version",
  async (status) => {
    const lines = openLines();
    const { steps, clock, seen, finish } = run(
      inOrder(
        () => json({}, status),
        () => page(["a"], "5", "more"),
        () => page(["b"], "5"),
        () => lines.response,
      ),
    );
    await clock.advance(seconds(1));
    lines.send(added("c", "6"));
    await clock.advance(seconds(1));
    expect(steps).toEqual(["begin", "begin", "initial a", "initial b", "complete 5", "changed c"]);
    expect([
      parameter(seen[1], "limit"),
      parameter(seen[2], "continue"),
      parameter(seen[3], "resourceVersion"),
    ]).toEqual(["500", "more", "5"]);
    await finish();
  },
);

test("watch falls back to paged lists when a streaming list goes silent before its end", async () => {
  const lines = openLines();
  const { steps, clock, finish } = run(
    inOrder(
      () => lines.response,
      () => page(["a"], "5"),
      () => openLines().response,
    ),
  );
  lines.send(added("a", "1"));
  await clock.advance(seconds(9));
  expect(steps).toEqual(["begin", "initial a"]);
  await clock.advance(seconds(2));
  expect(steps).toEqual(["begin", "initial a", "begin", "initial a", "complete 5"]);
  await finish();
});

test("watch falls back to paged lists when objects arrive but the end of the streaming list does not", async () => {
  const lines = openLines();
  const { steps, clock, finish } = run(
    inOrder(
      () => lines.response,
      () => page(["a"], "5"),
      () => openLines().response,
    ),
  );
  for (let n = 0; n < 14; n++) {
    lines.send(added("a", String(n)));
    await clock.advance(seconds(5));
    if (steps.includes("complete 5")) break;
  }
  expect(steps.at(-1)).toBe("complete 5");
  await finish();
});

/** Streaming lists that end after the first object, and pages that work. Records when each request arrives. */
const endsStreamingLists = (breakOff: (lines: ReturnType<typeof openLines>) => void) => {
  const requests: { readonly at: number; readonly what: string }[] = [];
  const answered = run((request) => {
    const isStreaming = parameter(request, "sendInitialEvents") === "true";
    const isPage = parameter(request, "limit") !== null;
    requests.push({
      at: answered.clock.monotonic(),
      what: isStreaming ? "stream" : isPage ? "page" : "watch",
    });
    if (isPage) return page(["a"], "5");
    const lines = openLines();
    if (isStreaming) {
      lines.send(added("a", "1"));
      // A watch that never pauses would not let virtual time pass.
      if (requests.length < 20) breakOff(lines);
    }
    return lines.response;
  });
  return { ...answered, requests };
};

test.each<[string, (lines: ReturnType<typeof openLines>) => void]>([
  ["end", (lines) => lines.end()],
  ["break", (lines) => lines.fail(Object.assign(new Error("x"), { code: "ECONNRESET" }))],
])(
  "watch backs off, then falls back to paged lists, when streaming lists %s before they are complete",
  async (_, breakOff) => {
    const { clock, requests, steps, finish } = endsStreamingLists(breakOff);
    await clock.advance(seconds(30));
    expect(requests.map(({ what }) => what)).toEqual(["stream", "stream", "stream", "page", "watch"]);
    const [first = 0, second = 0, third = 0, pages = 0] = requests.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(400);
    expect(third - second).toBeGreaterThanOrEqual(800);
    expect(pages - third).toBeGreaterThanOrEqual(1600);
    expect(steps.filter((step) => step === "failed unreachable")).toHaveLength(3);
    expect(steps.slice(-3)).toEqual(["begin", "initial a", "complete 5"]);
    await finish();
  },
);

test("watch does not count a broken streaming list against later ones once a list was complete", async () => {
  let lists = 0;
  const { clock, seen, finish } = run((request) => {
    if (parameter(request, "sendInitialEvents") !== "true") return json({}, 410);
    lists += 1;
    const lines = openLines();
    lines.send(added("a", "1"), ...(lists % 3 === 0 ? [bookmark("9", true)] : []));
    lines.end();
    return lines.response;
  });
  await clock.advance(seconds(60));
  expect(lists).toBeGreaterThan(9);
  expect(seen.some((request) => parameter(request, "limit") !== null)).toBe(false);
  await finish();
});

const listed = (version: string, ...more: readonly unknown[]) => {
  const lines = openLines();
  lines.send(added("a", "1"), bookmark(version, true), ...more);
  return lines;
};

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

test("watch reconnects without reporting a failure after a silence longer than the bookmark interval", async () => {
  const first = listed("5");
  const second = openLines();
  const { clock, seen, steps, finish } = run(
    inOrder(
      () => first.response,
      () => second.response,
      () => openLines().response,
    ),
  );
  await clock.advance(seconds(99));
  expect(seen).toHaveLength(1);
  await clock.advance(seconds(3));
  expect([seen.length, parameter(seen[1], "resourceVersion")]).toEqual([2, "5"]);
  await clock.advance(seconds(101));
  expect([seen.length, parameter(seen[2], "resourceVersion")]).toEqual([3, "5"]);
  expect(steps.slice(-3)).toEqual(["complete 5", "resumed", "resumed"]);
  await finish();
});

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

test("watch reports a failure when reconnecting after a silence fails", async () => {
  const first = listed("5");
  const { clock, steps, finish } = run(
    inOrder(
      () => first.response,
      () => {
        throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
    ),
  );
  await clock.advance(seconds(102));
  expect(steps.slice(2, 4)).toEqual(["complete 5", "failed unreachable"]);
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

test("an answer to another request ends the watch's backoff after an outage, but only a few times without progress", async () => {
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
  // A watch that alone is refused does not retry each time another request succeeds.
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

test("watch reconnects within a second of the first answer after a long outage", async () => {
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
