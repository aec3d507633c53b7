import { describe, expect, test } from "bun:test";
import { type AbandonedCall, CallGuard } from "../../src/cloud/call-guard.ts";
import { seconds } from "../../src/core/brand.ts";
import { Redaction } from "../../src/core/redaction.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const setUp = () => {
  const clock = new VirtualClock();
  const abandoned: AbandonedCall[] = [];
  const [cancel, replace] = [new AbortController(), new AbortController()];
  const guard = new CallGuard({
    redaction: new Redaction(),
    clock,
    replaced: replace.signal,
    onAbandoned: (call) => abandoned.push(call),
  });
  const call = { signal: cancel.signal, urgency: "refresh" } as const;
  const never = (): Promise<string> => new Promise(() => undefined);
  const run = (begin: () => Promise<string>): Promise<string> =>
    guard.call({ operation: "routes.create", object: () => "10.0.0.0/24" }, cancel.signal, begin);
  return { clock, abandoned, cancel, replace, guard, call, never, run };
};

describe("a call of a provider", () => {
  test("settles like the provider's promise, and leaves no timer", async () => {
    const { clock, abandoned, run, cancel, replace } = setUp();
    expect(await run(async () => "result")).toBe("result");
    expect(await run(() => Promise.reject(new Error("refused"))).catch(String)).toBe("Error: refused");
    const thrown = run(() => {
      throw new Error("thrown");
    });
    expect(await thrown.catch(String)).toBe("Error: thrown");
    cancel.abort();
    replace.abort();
    expect([clock.pending, abandoned]).toEqual([0, []]);
  });

  test("keeps its own error when it ends after its cancellation", async () => {
    const { clock, abandoned, run, cancel } = setUp();
    const result = Promise.withResolvers<string>();
    const outcome = run(() => result.promise).catch(String);
    cancel.abort();
    await clock.advance(seconds(1));
    result.reject(new Error("cancelled by the caller"));
    expect(await outcome).toBe("Error: cancelled by the caller");
    expect([clock.pending, abandoned]).toEqual([0, []]);
  });

  test.each([
    ["cancelled", 2, "within 2s after its cancellation"],
    ["replaced", 60, "within 1m after its connection was replaced"],
  ] as const)("is given up when it was %s and does not end within %i s", async (why, limit, text) => {
    const { clock, abandoned, run, never, cancel, replace } = setUp();
    let outcome = "";
    void run(never).catch((error: unknown) => {
      outcome = String(error);
    });
    await clock.advance(seconds(600));
    (why === "cancelled" ? cancel : replace).abort();
    await clock.advance(seconds(limit - 1));
    expect(outcome).toBe("");
    await clock.advance(seconds(1));
    expect(outcome).toContain(`routes.create of the provider did not end ${text}`);
    expect(abandoned).toEqual([{ operation: "routes.create", object: "10.0.0.0/24", why }]);
    expect(clock.pending).toBe(0);
  });

  test("is given up although it began after its cancellation", async () => {
    const { clock, abandoned, run, never, cancel } = setUp();
    cancel.abort();
    const outcome = run(never).catch(String);
    await clock.advance(seconds(2));
    expect(await outcome).toContain("did not end");
    expect(abandoned).toHaveLength(1);
  });
});

describe("a listing of a provider", () => {
  test("ends in the provider when its reader stops", async () => {
    const { guard, call } = setUp();
    let isEnded = false;
    const list = async function* () {
      try {
        yield 1;
        yield 2;
      } finally {
        isEnded = true;
      }
    };
    for await (const page of guard.pages("routes.list", list, call)) {
      expect(page).toBe(1);
      break;
    }
    expect(isEnded).toBe(true);
  });

  test("is given up when a later page never arrives", async () => {
    const { guard, call, never, clock, cancel, abandoned } = setUp();
    const list = async function* () {
      yield "first";
      yield await never();
    };
    const pages: string[] = [];
    const read = async () => {
      for await (const page of guard.pages("routes.list", list, call)) pages.push(page);
    };
    const outcome = read().catch(String);
    cancel.abort();
    await clock.advance(seconds(2));
    expect(await outcome).toContain("routes.list of the provider did not end");
    expect([pages, abandoned]).toEqual([
      ["first"],
      [{ operation: "routes.list", object: "", why: "cancelled" }],
    ]);
  });

  test("is given up when it does not end after its reader has stopped", async () => {
    const { guard, call, never, clock, cancel, abandoned } = setUp();
    const list = async function* () {
      try {
        yield "first";
      } finally {
        await never();
      }
    };
    let outcome = "";
    const read = async () => {
      for await (const page of guard.pages("routes.list", list, call)) expect(page).toBe(await stopAt());
    };
    const stopAt = () => Promise.reject(new Error("stopped"));
    void read().catch((error: unknown) => {
      outcome = String(error);
    });
    cancel.abort();
    await clock.advance(seconds(2));
    expect(outcome).toContain("stopped");
    expect(abandoned).toEqual([{ operation: "routes.list", object: "", why: "cancelled" }]);
  });
});
