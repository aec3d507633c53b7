import { describe, expect, test } from "bun:test";
import {
  type LeadershipSessionsOptions,
  runLeadershipSessions,
} from "../../../src/app/leadership/leadership-sessions.ts";
import { Draining } from "../../../src/runtime/draining.ts";

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet, debug: quiet };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Terms whose Lease is in the hand of the test. */
const sessions = (changes: Partial<LeadershipSessionsOptions> = {}) => {
  const said: string[] = [];
  const stop = new AbortController();
  let callbacks: Parameters<LeadershipSessionsOptions["elect"]>[0] | undefined;
  const ended = runLeadershipSessions({
    stop: stop.signal,
    identity: "me",
    log,
    controllers: [],
    onSession: (isOurs) => said.push(isOurs ? "term begins" : "term ends"),
    beforeRelease: async () => void said.push("last writes"),
    elect: (given) => {
      callbacks = given;
      return {
        run: async (signal: AbortSignal) => {
          given.onAcquired();
          await new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => resolve(), { once: true }),
          );
          said.push("released");
        },
      } as unknown as ReturnType<LeadershipSessionsOptions["elect"]>;
    },
    ...changes,
  });
  return { said, stop, ended, lose: () => callbacks?.onLost("taken by another") };
};

test("the Lease is given up when a controller fails, and the failure is told after it", async () => {
  const { said, ended } = sessions({
    controllers: [{ name: "x", run: () => Promise.reject(new Error("boom")) }],
  });
  expect(await ended.catch(String)).toContain("boom");
  expect(said).toContain("released");
});

test("the work drains, then the last events are written, then the Lease is given up [F67]", async () => {
  const work = Promise.withResolvers<void>();
  const { said, stop, ended } = sessions({ controllers: [{ name: "x", run: () => work.promise }] });
  await turn();
  stop.abort(new Draining("asked to stop", new AbortController().signal));
  await turn();
  expect(said).toEqual(["term begins"]);
  work.resolve();
  await ended;
  expect(said).toEqual(["term begins", "term ends", "last writes", "released"]);
});

describe("when the Lease is lost", () => {
  test("the controllers are cut and the process goes on [N14]", async () => {
    let reason: unknown;
    const { said, stop, ended, lose } = sessions({
      controllers: [
        {
          name: "x",
          run: (signal) =>
            new Promise((resolve) =>
              signal.addEventListener("abort", () => {
                ({ reason } = signal);
                resolve();
              }),
            ),
        },
      ],
    });
    await turn();
    lose();
    await turn();
    expect([String(reason), said]).toEqual(["Error: leadership was lost", ["term begins", "term ends"]]);
    stop.abort(new Error("asked to stop"));
    await ended;
    // Nothing of ours is left to be written, and nothing to be told twice.
    expect(said).toEqual(["term begins", "term ends", "released"]);
  });

  test("in the middle of a drain, what is in hand is cut at once [N14]", async () => {
    let cutAt: AbortSignal | undefined;
    const { stop, ended, lose } = sessions({
      controllers: [
        {
          name: "x",
          run: (signal) =>
            new Promise((resolve) =>
              signal.addEventListener("abort", () => {
                cutAt = (signal.reason as Draining).end;
                cutAt.addEventListener("abort", () => resolve());
              }),
            ),
        },
      ],
    });
    await turn();
    stop.abort(new Draining("asked to stop", new AbortController().signal));
    await turn();
    expect(cutAt?.aborted).toBe(false);
    lose();
    await ended;
    expect(cutAt?.aborted).toBe(true);
  });

  test("--exit-on-lost-lease ends the process as upstream does [F67]", async () => {
    const { ended, lose } = sessions({ exitOnLoss: true });
    await turn();
    lose();
    expect(await ended.catch(String)).toContain("leaderelection lost");
  });
});
