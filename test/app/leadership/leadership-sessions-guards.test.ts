import { expect, test } from "bun:test";
import {
  type LeadershipSessionsOptions,
  runLeadershipSessions,
} from "../../../src/app/leadership/leadership-sessions.ts";
import type { Task } from "../../../src/runtime/scope.ts";

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet, debug: quiet };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Terms of one controller; the Lease is in the hand of the test, and takes a moment to be given up. */
const sessions = (run: Task["run"], changes: Partial<LeadershipSessionsOptions> = {}) => {
  const stop = new AbortController();
  const said: string[] = [];
  let callbacks: Parameters<LeadershipSessionsOptions["elect"]>[0] | undefined;
  const ended = runLeadershipSessions({
    stop: stop.signal,
    identity: "me",
    log,
    controllers: [{ name: "x", run }],
    elect: (given) => {
      callbacks = given;
      return {
        run: async (signal: AbortSignal) => {
          given.onAcquired();
          await new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => resolve(), { once: true }),
          );
          await turn();
          said.push("released");
        },
      } as unknown as ReturnType<LeadershipSessionsOptions["elect"]>;
    },
    ...changes,
  });
  return {
    said,
    stop,
    ended,
    lose: () => callbacks?.onLost("taken by another"),
    regain: () => callbacks?.onAcquired(),
  };
};

test("a new term begins when the work of the one before is over: nothing is worked on twice at once", async () => {
  const inHand: PromiseWithResolvers<void>[] = [];
  const { stop, ended, lose, regain } = sessions(() => {
    const work = Promise.withResolvers<void>();
    inHand.push(work);
    return work.promise;
  });
  await turn();
  lose();
  regain();
  await turn();
  expect(inHand).toHaveLength(1);
  inHand[0]?.resolve();
  await turn();
  expect(inHand).toHaveLength(2);
  stop.abort(new Error("asked to stop"));
  inHand[1]?.resolve();
  await ended;
});

test("a process whose controller failed does not end before its Lease is given up", async () => {
  const { said, ended } = sessions(() => Promise.reject(new Error("boom")));
  expect(await ended.catch(String)).toContain("boom");
  expect(said).toEqual(["released"]);
});

test("a Lease that is lost while we stop makes no failure of it, also with --exit-on-lost-lease", async () => {
  const work = Promise.withResolvers<void>();
  const { stop, ended, lose } = sessions(() => work.promise, { exitOnLoss: true });
  await turn();
  stop.abort(new Error("asked to stop"));
  lose();
  work.resolve();
  expect(await ended).toBeUndefined();
});
