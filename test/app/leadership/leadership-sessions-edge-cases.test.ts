import { expect, test } from "bun:test";
import {
  LeadershipSessions,
  type LeadershipSessionsOptions,
} from "../../../src/app/leadership/leadership-sessions.ts";
import type { Task } from "../../../src/runtime/run-together.ts";

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet, debug: quiet };
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Leadership sessions of one controller. The test controls the Lease, whose release takes a moment. */
const sessions = (work: Task["run"], changes: Partial<LeadershipSessionsOptions> = {}) => {
  const stop = new AbortController();
  const reported: string[] = [];
  let callbacks: Parameters<LeadershipSessionsOptions["elect"]>[0] | undefined;
  const ended = new LeadershipSessions({
    stop: stop.signal,
    identity: "me",
    log,
    work,
    elect: (given) => {
      callbacks = given;
      return {
        run: async (signal: AbortSignal) => {
          given.onAcquired();
          await new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => resolve(), { once: true }),
          );
          await nextTick();
          reported.push("released");
        },
      } as unknown as ReturnType<LeadershipSessionsOptions["elect"]>;
    },
    ...changes,
  }).run();
  return {
    reported,
    stop,
    ended,
    lose: () => callbacks?.onLost("taken by another"),
    regain: () => callbacks?.onAcquired(),
  };
};

test("starts a leadership session only after the work of the previous session has ended", async () => {
  const started: PromiseWithResolvers<void>[] = [];
  const { stop, ended, lose, regain } = sessions(() => {
    const work = Promise.withResolvers<void>();
    started.push(work);
    return work.promise;
  });
  await nextTick();
  lose();
  regain();
  await nextTick();
  expect(started).toHaveLength(1);
  started[0]?.resolve();
  await nextTick();
  expect(started).toHaveLength(2);
  stop.abort(new Error("asked to stop"));
  started[1]?.resolve();
  await ended;
});

test("releases the Lease before the process of a failed controller ends", async () => {
  const { reported, ended } = sessions(() => Promise.reject(new Error("boom")));
  expect(await ended.catch(String)).toContain("boom");
  expect(reported).toEqual(["released"]);
});

test("losing the Lease during shutdown is not a failure, even with --exit-on-lost-lease", async () => {
  const work = Promise.withResolvers<void>();
  const { stop, ended, lose } = sessions(() => work.promise, { exitOnLoss: true });
  await nextTick();
  stop.abort(new Error("asked to stop"));
  lose();
  work.resolve();
  expect(await ended).toBeUndefined();
});
