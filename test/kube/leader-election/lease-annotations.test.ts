import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { LeaderElection } from "../../../src/kube/leader-election/leader-election.ts";
import { annotate, type LeaseAnnotations } from "../../../src/kube/leader-election/lease-annotations.ts";
import type { Lease } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { json, scripted } from "../support/scripted.ts";

/** A leader whose Lease has the annotation `mine`, with the number of requests that wrote it. */
const setUp = async () => {
  let lease: Lease | undefined;
  let version = 0;
  let isFailing = false;
  const puts: string[] = [];
  const stored: string[] = [];
  let mine = "0";
  const store = (body: Lease): Response => {
    lease = { ...body, metadata: { ...body.metadata, uid: "u", resourceVersion: String(++version) } };
    return json(lease);
  };
  const server = scripted((request) => {
    if (request.method === "GET") return lease === undefined ? json({}, 404) : json(lease);
    const body = JSON.parse(String(request.body)) as Lease;
    if (request.method === "POST") return store(body);
    puts.push(body.metadata.annotations?.["mine"] ?? "");
    if (isFailing) return json({ reason: "InternalError" }, 500);
    const isCurrent = body.metadata.resourceVersion === lease?.metadata.resourceVersion;
    return isCurrent ? store(body) : json({ reason: "Conflict" }, 409);
  });
  const annotations: LeaseAnnotations = {
    read: () => undefined,
    next: () => {
      const value = mine;
      return { values: { mine: value }, onStored: () => void stored.push(value) };
    },
  };
  const leader = new LeaderElection({
    api: server.api.as({ lane: "reserved" }),
    clock: server.clock,
    random: seededRandom(1),
    namespace: "kube-system",
    name: "ccm",
    identity: "one",
    annotations,
    onAcquired: () => undefined,
    onLost: () => undefined,
  });
  const stop = new AbortController();
  const ended = leader.run(stop.signal);
  await server.clock.advance(seconds(1));
  return {
    leader,
    clock: server.clock,
    puts,
    stored,
    set: (value: string) => {
      mine = value;
    },
    fail: (value: boolean) => {
      isFailing = value;
    },
    annotationsNow: () => lease?.metadata.annotations,
    edit: (key: string, value: string) => {
      if (lease === undefined) throw new Error("There is no Lease.");
      const annotations = { ...lease.metadata.annotations, [key]: value };
      store({ ...lease, metadata: { ...lease.metadata, annotations } });
    },
    end: async () => {
      stop.abort();
      await ended;
    },
  };
};

test("an immediate renewal stores the annotations, and simultaneous callers share it", async () => {
  const { leader, clock, puts, stored, set, end } = await setUp();
  set("1");
  const renewals = Promise.all([leader.renew(), leader.renew()]);
  await clock.advance(seconds(0));
  await renewals;
  expect([puts, stored]).toEqual([["1"], ["0", "1"]]);
  await clock.advance(seconds(4));
  expect(puts).toEqual(["1", "1", "1"]);
  await end();
});

test("an immediate renewal rejects when the API server rejects it, and leadership continues", async () => {
  const { leader, clock, stored, set, fail, end } = await setUp();
  set("1");
  fail(true);
  const renewal = leader.renew();
  renewal.catch(() => undefined);
  await clock.advance(seconds(0));
  await expect(renewal).rejects.toThrow("The Lease kube-system/ccm could not be renewed");
  expect(stored).toEqual(["0"]);
  fail(false);
  await clock.advance(seconds(3));
  expect([stored.at(-1), leader.isHeld()]).toEqual(["1", true]);
  await end();
});

test("an immediate renewal rejects without leadership", async () => {
  const { leader, end } = await setUp();
  await end();
  await expect(leader.renew()).rejects.toThrow("does not hold the Lease");
});

test("annotations of other clients stay, and a concurrent change costs one read", async () => {
  const { leader, clock, edit, annotationsNow, end } = await setUp();
  edit("foreign", "kept");
  const renewal = leader.renew();
  await clock.advance(seconds(0));
  await renewal;
  expect(annotationsNow()).toEqual({ mine: "0", foreign: "kept" });
  await end();
  expect(annotationsNow()).toEqual({ mine: "0", foreign: "kept" });
});

test("metadata stays the same object when no annotation changes", () => {
  const metadata = { name: "ccm", annotations: { a: "1" } };
  expect(annotate(metadata, { a: "1", b: undefined })).toBe(metadata);
  expect(annotate(metadata, { a: undefined })).toEqual({ name: "ccm" } as typeof metadata);
  expect(annotate<{ name: string; annotations?: Record<string, string> }>({ name: "ccm" }, {})).toEqual({
    name: "ccm",
  });
});
