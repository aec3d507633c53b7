import { expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { json, openLines } from "../support/scripted.ts";
import { added, bookmark, inOrder, page, parameter, run } from "../support/watch-run.ts";

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

test("a page above 8 MiB is not parsed, and is requested again with fewer objects, like the later pages [N25]", async () => {
  const lines = openLines();
  const huge = (): Response => new Response(`{"items":["${"x".repeat(9 * 1024 * 1024)}"]}`);
  const { steps, clock, seen, finish } = run(
    inOrder(
      () => json({}, 400),
      huge,
      () => page(["a"], "5", "more"),
      huge,
      () => page(["b"], "5"),
      () => lines.response,
    ),
  );
  await clock.advance(seconds(1));
  expect(steps).toEqual(["begin", "begin", "initial a", "initial b", "complete 5"]);
  const asked = seen.slice(1, 5).map((one) => [parameter(one, "limit"), parameter(one, "continue")]);
  expect(asked).toEqual([
    ["500", null],
    ["63", null],
    ["63", "more"],
    ["8", "more"],
  ]);
  await finish();
});

test("a paged list runs the garbage collector after each page", async () => {
  const [lines, pages]: [ReturnType<typeof openLines>, string[]] = [openLines(), []];
  const { clock, finish } = run(
    inOrder(
      () => json({}, 400),
      ...["a", "b", "c"].map((name) => () => {
        pages.push(name);
        return page([name], "5", name === "c" ? undefined : "more");
      }),
      () => lines.response,
    ),
    () => pages.push("collected"),
  );
  await clock.advance(seconds(1));
  expect(pages).toEqual(["a", "collected", "b", "collected", "c"]);
  await finish();
});

test("watch falls back to paged lists when a streaming list falls silent before its end", async () => {
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

test("watch does not count a broken streaming list against later streaming lists once a list was complete", async () => {
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

test("watch tries a streaming list again an hour after it fell back to paged lists", async () => {
  const kinds: string[] = [];
  const { clock, finish } = run((request) => {
    const isStreaming = parameter(request, "sendInitialEvents") === "true";
    const isPage = parameter(request, "limit") !== null;
    kinds.push(isStreaming ? "stream" : isPage ? "page" : "watch");
    if (isStreaming) return json({}, 422);
    if (isPage) return page(["a"], "5");
    const lines = openLines();
    lines.send(bookmark("6"));
    // Each silence ends a connection; the next one returns 410.
    return kinds.at(-2) === "watch" ? json({}, 410) : lines.response;
  });
  await clock.advance(minutes(55));
  expect(kinds.filter((kind) => kind === "stream")).toHaveLength(1);
  expect(kinds.filter((kind) => kind === "page").length).toBeGreaterThan(10);
  await clock.advance(minutes(60));
  expect(kinds.filter((kind) => kind === "stream")).toHaveLength(2);
  await finish();
});
