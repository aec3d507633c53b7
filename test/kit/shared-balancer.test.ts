import { describe, expect, test } from "bun:test";
import { CloudError, KeyedLock, viewOf, whileMarked } from "../../src/index.ts";

interface Listener {
  readonly port: number;
  readonly marks: readonly string[];
}

const listeners: readonly Listener[] = [
  { port: 80, marks: ["web"] },
  { port: 81, marks: ["blog"] },
  { port: 6443, marks: [] },
];
const view = (mark: string | undefined, marks: readonly string[], some = listeners) =>
  viewOf({ mark, marks, listeners: some, marksOf: (one) => one.marks });
const portsOf = (all: readonly Listener[]) => all.map(({ port }) => port);

describe("the view of a Service", () => {
  test.each([
    ["one of two Services", "web", ["web", "blog"], listeners, [80], [81, 6443], ["blog"], false],
    [
      "a Service that may join",
      undefined,
      ["web", "blog"],
      listeners,
      [],
      [80, 81, 6443],
      ["web", "blog"],
      false,
    ],
    ["the last Service", "web", ["web"], listeners.slice(0, 1), [80], [], [], true],
    [
      "the last Service beside foreign listeners",
      "web",
      ["web"],
      [listeners[0], listeners[2]],
      [80],
      [6443],
      [],
      false,
    ],
    [
      "the last Service after a Service that has lost its mark",
      "web",
      ["web"],
      listeners.slice(0, 2),
      [80],
      [81],
      [],
      true,
    ],
    ["a Service without listeners", "shop", ["shop", "web"], listeners.slice(0, 1), [], [80], ["web"], false],
  ] as const)(
    "the view of a Service shows own and taken listeners, and whether it is the last sharer: %s [F38 F108]",
    (_, mark, marks, some, own, taken, others, isLast) => {
      const seen = view(mark, marks, some as readonly Listener[]);
      expect(portsOf(seen.own)).toEqual([...own]);
      expect(portsOf(seen.taken.map(({ listener }) => listener))).toEqual([...taken]);
      expect(seen.others).toEqual([...others]);
      expect(seen.isLast).toBe(isLast);
    },
  );

  test("the view of a Service includes its parts under another mark [F38]", () => {
    const isSame = (one: string, other: string) => one.split("#")[0] === other.split("#")[0];
    const some = [{ port: 80, marks: ["web#1"] }];
    const seen = viewOf({
      mark: "web#2",
      marks: ["web#1", "web#2"],
      listeners: some,
      marksOf: (one) => one.marks,
      isSame,
    });
    expect(seen).toMatchObject({ own: some, taken: [], others: [], isLast: true });
  });
});

describe("a step that depends on marks", () => {
  const { signal } = new AbortController();
  const call = { signal, urgency: "refresh" } as const;
  const run = (
    planned: readonly string[] | undefined,
    now: readonly string[] | undefined,
  ): Promise<string> => {
    const step = { do: "join load balancer" };
    const read = async () => now && { name: "shop", marks: now };
    const rest = { step, operation: "PUT /x", key: "1", noun: "labels", planned, read };
    return whileMarked(new KeyedLock(), rest, call, async () => "applied");
  };

  test.each([
    ["applied", ["a", "b"], ["b", "a"]],
    ["applied", undefined, undefined],
    // The request itself returns the 404.
    ["applied", ["a"], undefined],
    ["busy", ["a"], ["a", "b"]],
    ["busy", ["a", "b"], ["a"]],
    ["busy", undefined, []],
  ] as const)(
    "a step that depends on marks is %s: planned with %j, and now %j [F38]",
    async (outcome, planned, now) => {
      const kind = await run(planned, now).catch((error: unknown) => CloudError.is(error) && error.kind);
      expect(kind).toBe(outcome);
    },
  );

  test("a step that depends on marks names the marks that have changed", async () => {
    const error = await run(["a"], ["b"]).catch((one: unknown) => one);
    expect(String(error)).toContain("The load balancer shop (1) has the labels b, and had a when");
  });
});
