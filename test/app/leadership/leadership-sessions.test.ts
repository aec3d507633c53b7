import { describe, expect, test } from "bun:test";
import {
  LeadershipSessions,
  type LeadershipSessionsOptions,
} from "../../../src/app/leadership/leadership-sessions.ts";
import { Draining } from "../../../src/runtime/draining.ts";

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet, debug: quiet };
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Leadership sessions whose Lease the test controls. */
const sessions = (changes: Partial<LeadershipSessionsOptions> = {}) => {
  const reported: string[] = [];
  const stop = new AbortController();
  let callbacks: Parameters<LeadershipSessionsOptions["elect"]>[0] | undefined;
  const ended = new LeadershipSessions({
    stop: stop.signal,
    identity: "me",
    log,
    work: () => Promise.resolve(),
    onSession: (isLeader) => reported.push(isLeader ? "session begins" : "session ends"),
    beforeRelease: async () => void reported.push("last writes"),
    elect: (given) => {
      callbacks = given;
      return {
        run: async (signal: AbortSignal) => {
          given.onAcquired();
          await new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => resolve(), { once: true }),
          );
          reported.push("released");
        },
      } as unknown as ReturnType<LeadershipSessionsOptions["elect"]>;
    },
    ...changes,
  }).run();
  return { reported, stop, ended, lose: () => callbacks?.onLost("taken by another") };
};

test("a failing controller releases the Lease, and its error is reported afterwards", async () => {
  const { reported, ended } = sessions({
    work: () => Promise.reject(new Error("boom")),
  });
  expect(await ended.catch(String)).toContain("boom");
  expect(reported).toContain("released");
});

test("a stop drains the work, writes the last events, and then releases the Lease [F67]", async () => {
  const work = Promise.withResolvers<void>();
  const { reported, stop, ended } = sessions({ work: () => work.promise });
  await nextTick();
  stop.abort(new Draining("asked to stop", new AbortController().signal));
  await nextTick();
  expect(reported).toEqual(["session begins"]);
  work.resolve();
  await ended;
  expect(reported).toEqual(["session begins", "session ends", "last writes", "released"]);
});

describe("a lost Lease", () => {
  test("losing the Lease cancels the controllers and keeps the process running [N14]", async () => {
    let reason: unknown;
    const { reported, stop, ended, lose } = sessions({
      work: (signal) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            ({ reason } = signal);
            resolve();
          }),
        ),
    });
    await nextTick();
    lose();
    await nextTick();
    expect([String(reason), reported]).toEqual([
      "Error: leadership was lost",
      ["session begins", "session ends"],
    ]);
    stop.abort(new Error("asked to stop"));
    await ended;
    // No events are left to write, and the end of the session is reported only once.
    expect(reported).toEqual(["session begins", "session ends", "released"]);
  });

  test("losing the Lease during a drain immediately cancels the remaining work [N14]", async () => {
    let cutAt: AbortSignal | undefined;
    const { stop, ended, lose } = sessions({
      work: (signal) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            cutAt = (signal.reason as Draining).end;
            cutAt.addEventListener("abort", () => resolve());
          }),
        ),
    });
    await nextTick();
    stop.abort(new Draining("asked to stop", new AbortController().signal));
    await nextTick();
    expect(cutAt?.aborted).toBe(false);
    lose();
    await ended;
    expect(cutAt?.aborted).toBe(true);
  });

  test("losing the Lease ends the process with --exit-on-lost-lease, as in upstream [F67]", async () => {
    const { ended, lose } = sessions({ exitOnLoss: true });
    await nextTick();
    lose();
    expect(await ended.catch(String)).toContain("leaderelection lost");
  });
});
