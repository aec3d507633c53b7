import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { electionTimingProblem, LeaderElection } from "../../../src/kube/leader-election/leader-election.ts";
import type { Lease } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { TransportRequest } from "../../../src/platform/transport.ts";
import { json, scripted, silence } from "../support/scripted.ts";

/** One Lease with resource versions, behind a server whose responses and writes can fail. */
const election = () => {
  let lease: Lease | undefined;
  let version = 0;
  let mood: "answers" | "silent" | "writes land unheard" = "answers";
  const store = (body: Lease): Lease => {
    lease = { ...body, metadata: { ...body.metadata, uid: "u", resourceVersion: String(++version) } };
    return lease;
  };
  const handle = (request: TransportRequest): Response => {
    if (request.method === "GET") return lease === undefined ? json({}, 404) : json(lease);
    const body = JSON.parse(String(request.body)) as Lease;
    if (request.method === "POST")
      return lease === undefined ? json(store(body), 201) : json({ reason: "AlreadyExists" }, 409);
    if (body.metadata.resourceVersion !== lease?.metadata.resourceVersion)
      return json({ reason: "Conflict" }, 409);
    return json(store(body));
  };
  const server = scripted((request, signal) => {
    if (mood === "silent") return silence(signal);
    const answer = handle(request);
    return mood === "writes land unheard" && request.method === "PUT" ? silence(signal) : answer;
  });
  const candidate = (identity: string) => {
    const reported: string[] = [];
    const leader = new LeaderElection({
      api: server.api.as({ lane: "reserved" }),
      clock: server.clock,
      random: seededRandom(identity.length),
      namespace: "kube-system",
      name: "ccm",
      identity,
      onAcquired: () => reported.push("acquired"),
      onRecreated: () => reported.push("created again"),
      onLost: (reason) => reported.push(reason),
    });
    const stop = new AbortController();
    return { leader, reported, stop, ended: leader.run(stop.signal) };
  };
  return {
    ...server,
    candidate,
    spec: () => lease?.spec,
    restore: (backup: Lease | undefined) => {
      lease = backup;
    },
    backup: () => lease,
    write: (spec: Lease["spec"]) =>
      store({
        metadata: { name: "ccm", uid: "u", resourceVersion: "" },
        ...(spec !== undefined && { spec }),
      }),
    setMood: (next: typeof mood) => {
      mood = next;
    },
  };
};

test("leader election creates the Lease, renews it, and releases it on stop", async () => {
  const { candidate, clock, spec } = election();
  const one = candidate("one");
  await clock.advance(seconds(0));
  expect(spec()).toMatchObject({ holderIdentity: "one", leaseDurationSeconds: 15, leaseTransitions: 0 });
  expect(spec()?.renewTime).toMatch(/\.\d{6}Z$/);
  const acquired = spec()?.acquireTime;
  await clock.advance(seconds(60));
  expect(one.leader.age()).toBeLessThanOrEqual(2000);
  expect([spec()?.acquireTime, one.reported]).toEqual([acquired, ["acquired"]]);
  one.stop.abort();
  await one.ended;
  expect(spec()).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
  expect([one.leader.isHeld(), clock.pending, getEventListeners(one.stop.signal, "abort").length]).toEqual([
    false,
    0,
    0,
  ]);
});

test("leader election takes another holder's Lease only after it stays unrenewed for its duration, regardless of its timestamps", async () => {
  const { candidate, clock, spec, write } = election();
  const ancient = {
    holderIdentity: "other",
    leaseDurationSeconds: 15,
    renewTime: "2001-01-01T00:00:00.000000Z",
    leaseTransitions: 4,
  };
  write(ancient);
  const one = candidate("one");
  await clock.advance(seconds(10));
  write({ ...ancient, renewTime: "2001-01-01T00:00:01.000000Z" });
  await clock.advance(seconds(14));
  expect(one.leader.isHeld()).toBe(false);
  await clock.advance(seconds(10));
  expect(one.leader.isHeld()).toBe(true);
  expect(spec()).toMatchObject({ holderIdentity: "one", leaseTransitions: 5 });
  one.stop.abort();
  await one.ended;
});

test("a nudged candidate takes a released Lease immediately", async () => {
  const { candidate, clock } = election();
  const one = candidate("one");
  await clock.advance(seconds(1));
  const two = candidate("two");
  await clock.advance(seconds(1));
  one.stop.abort();
  await one.ended;
  two.leader.nudge();
  await clock.advance(seconds(0));
  expect(two.leader.isHeld()).toBe(true);
  two.stop.abort();
  await two.ended;
});

test("a nudge during an attempt triggers another attempt right afterwards", async () => {
  const { candidate, clock, setMood } = election();
  setMood("silent");
  const one = candidate("one");
  await clock.advance(seconds(1));
  one.leader.nudge();
  setMood("answers");
  await clock.advance(seconds(4));
  expect(one.leader.isHeld()).toBe(true);
  one.stop.abort();
  await one.ended;
});

describe("leader election with failing renewals", () => {
  test("a leader with failing renewals stops writing before the Lease can expire, loses it at the renew deadline, and takes it again later", async () => {
    const { candidate, clock, setMood } = election();
    const one = candidate("one");
    await clock.advance(seconds(0));
    const sentAt = clock.monotonic();
    setMood("silent");
    await clock.advance(seconds(9));
    expect(one.leader.mayWrite(seconds(5))).toBe(true);
    expect(one.leader.mayWrite(seconds(6))).toMatchObject({
      reason: expect.stringContaining("may have expired"),
    });
    await clock.until(() => one.reported.length > 1, seconds(5), "the loss");
    expect(clock.monotonic() - sentAt).toBe(10_000);
    expect(one.reported[1]).toContain("not renewed within 10s");
    expect(one.leader.isHeld()).toBe(false);
    setMood("answers");
    await clock.advance(seconds(10));
    expect([one.reported.length, one.leader.isHeld()]).toEqual([3, true]);
    one.stop.abort();
    await one.ended;
  });

  test("does not count a renewal without a response as proof, and the next renewal succeeds", async () => {
    const { candidate, clock, setMood } = election();
    const one = candidate("one");
    await clock.advance(seconds(1));
    setMood("writes land unheard");
    await clock.advance(seconds(4));
    expect(one.leader.age()).toBe(seconds(5));
    setMood("answers");
    await clock.advance(seconds(6));
    expect([one.reported, one.leader.isHeld()]).toEqual([["acquired"], true]);
    expect(one.leader.age()).toBeLessThanOrEqual(2000);
    one.stop.abort();
    await one.ended;
  });

  test("a leader loses the Lease and takes it again when the API server has an older version of it [N23]", async () => {
    const { candidate, clock, backup, restore } = election();
    const one = candidate("one");
    await clock.advance(seconds(1));
    const old = backup();
    await clock.advance(seconds(5));
    restore(old);
    await clock.advance(seconds(5));
    expect(one.reported).toEqual([
      "acquired",
      "the Lease kube-system/ccm is older than this replica wrote it, so the API server was restored from a backup. Everything is listed again.",
      "acquired",
    ]);
    expect(one.leader.mayWrite(milliseconds(0))).toBe(true);
    one.stop.abort();
    await one.ended;
  });

  test("recreates and keeps a Lease that another client deleted, and reports the deletion once", async () => {
    const { candidate, clock, restore, spec } = election();
    const one = candidate("one");
    await clock.advance(seconds(3));
    restore(undefined);
    await clock.advance(seconds(30));
    expect(one.reported).toEqual(["acquired", "created again"]);
    expect(spec()).toMatchObject({ holderIdentity: "one", leaseTransitions: 0 });
    one.stop.abort();
    await one.ended;
  });

  test("counts a transition when a standby replica takes a Lease that was deleted", async () => {
    const { candidate, clock, restore, spec } = election();
    const one = candidate("one");
    await clock.advance(seconds(1));
    const two = candidate("two");
    await clock.advance(seconds(1));
    restore(undefined);
    two.leader.nudge();
    await clock.advance(seconds(0));
    expect(spec()).toMatchObject({ holderIdentity: "two", leaseTransitions: 1 });
    for (const { stop } of [one, two]) stop.abort();
    await Promise.all([one.ended, two.ended]);
  });

  test("a leader loses the Lease at the next check when another candidate holds it", async () => {
    const { candidate, clock, write } = election();
    const one = candidate("one");
    await clock.advance(seconds(1));
    write({ holderIdentity: "other", leaseDurationSeconds: 15 });
    await clock.advance(seconds(3));
    expect(one.reported[1]).toContain('now held by "other"');
    expect(one.leader.mayWrite(milliseconds(0))).toMatchObject({
      reason: expect.stringContaining("does not hold the Lease"),
    });
    one.stop.abort();
    await one.ended;
  });
});

test("leader election measures the Lease's age by the wall clock if that clock ran ahead of the monotonic clock", async () => {
  const { candidate, clock } = election();
  const one = candidate("one");
  await clock.advance(seconds(0));
  const now = clock.now.bind(clock);
  clock.now = () => now() + 3_600_000;
  expect(one.leader.isHeld()).toBe(false);
  await clock.advance(seconds(3));
  expect(one.leader.isHeld()).toBe(true);
  one.stop.abort();
  await one.ended;
});

test("electionTimingProblem rejects timings that allow two leaders", () => {
  expect(electionTimingProblem(seconds(10), seconds(10), seconds(2))).toContain(
    "must be longer than the renew deadline",
  );
  expect(electionTimingProblem(seconds(15), seconds(2), seconds(2))).toContain("1.2 times the retry period");
  expect(electionTimingProblem(seconds(15), seconds(10), seconds(2))).toBeUndefined();
});
