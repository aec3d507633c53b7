import { describe, expect, test } from "bun:test";
import { seconds } from "../../src/core/brand.ts";
import { LeaderElection } from "../../src/kube/leader-election/leader-election.ts";
import type { Lease, LeaseSpec } from "../../src/kube/objects.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import { json, scripted, silence } from "../kube/support/scripted.ts";

// Rows of client-go's leader election tests. This replica's identity is "baz", the other one's "bing", and the Lease
// lasts 10 s.

const verbs: Readonly<Record<string, string>> = { GET: "get", POST: "create", PUT: "update" };

/** A server with one Lease, or none. `spec: null` is a Lease without content. */
const server = (stored: LeaseSpec | null | undefined) => {
  let version = 1;
  const calls: string[] = [];
  const keep = (spec: LeaseSpec | undefined): Lease => ({
    metadata: { name: "foo", namespace: "ns", uid: "u", resourceVersion: String(version++) },
    ...(spec !== undefined && { spec }),
  });
  let lease = stored === undefined ? undefined : keep(stored ?? undefined);
  const state = { isSilent: false, beforeUpdate: undefined as (() => void) | undefined };
  const write = (spec: LeaseSpec | undefined): Lease => {
    lease = keep(spec);
    return lease;
  };
  const parts = scripted((request: TransportRequest, signal) => {
    calls.push(verbs[request.method] ?? request.method);
    if (request.method === "GET") return lease === undefined ? json({}, 404) : json(lease);
    const body = JSON.parse(String(request.body)) as Lease;
    if (request.method === "POST") return json(write(body.spec), 201);
    state.beforeUpdate?.();
    state.beforeUpdate = undefined;
    if (body.metadata.resourceVersion !== lease?.metadata.resourceVersion)
      return json({ reason: "Conflict" }, 409);
    const written = json(write(body.spec));
    return state.isSilent ? silence(signal) : written;
  });
  const candidate = (identity = "baz") => {
    const reported: string[] = [];
    const leader = new LeaderElection({
      api: parts.api.as({ lane: "reserved" }),
      clock: parts.clock,
      random: seededRandom(1),
      namespace: "ns",
      name: "foo",
      identity,
      leaseDuration: seconds(10),
      renewDeadline: seconds(5),
      retryPeriod: seconds(1),
      onAcquired: () => reported.push("became leader"),
      onLost: () => reported.push("stopped leading"),
    });
    const stop = new AbortController();
    return { leader, reported, stop, ended: leader.run(stop.signal) };
  };
  return { ...parts, calls, state, candidate, write, spec: () => lease?.spec };
};

const bing = (duration: number): LeaseSpec => ({ holderIdentity: "bing", leaseDurationSeconds: duration });

describe("TestTryAcquireOrRenew", () => {
  interface Row {
    readonly title: string;
    readonly stored: LeaseSpec | null | undefined;
    readonly holder: string;
    readonly transitions: number | undefined;
    readonly calls: readonly string[];
  }
  const atOnce: readonly Row[] = [
    {
      title: "1: creates a missing Lease",
      stored: undefined,
      holder: "baz",
      transitions: 0,
      calls: ["get", "create"],
    },
    {
      title: "2: takes a Lease without spec",
      stored: null,
      holder: "baz",
      transitions: 1,
      calls: ["get", "update"],
    },
    {
      title: "4: takes a Lease with an empty spec",
      stored: {},
      holder: "baz",
      transitions: 1,
      calls: ["get", "update"],
    },
    {
      title: "6: takes a Lease without holder",
      stored: { holderIdentity: "", leaseDurationSeconds: 10 },
      holder: "baz",
      transitions: 1,
      calls: ["get", "update"],
    },
    {
      title: "7: leaves a Lease with another holder",
      stored: { ...bing(10), leaseTransitions: 0 },
      holder: "bing",
      transitions: 0,
      calls: ["get"],
    },
    {
      title: "8: keeps its Lease from before a restart under the same identity",
      stored: { holderIdentity: "baz", leaseDurationSeconds: 10, leaseTransitions: 0 },
      holder: "baz",
      transitions: 0,
      calls: ["get", "update"],
    },
  ];
  for (const { title, stored, holder, transitions, calls } of atOnce) {
    test(`TestTryAcquireOrRenew ${title} [F67]`, async () => {
      const s = server(stored);
      const one = s.candidate();
      await s.clock.advance(seconds(0));
      expect([s.spec()?.holderIdentity, s.spec()?.leaseTransitions, s.calls]).toEqual([
        holder,
        transitions,
        [...calls],
      ]);
      expect(one.leader.isHeld()).toBe(holder === "baz");
      one.stop.abort();
      await one.ended;
    });
  }

  test("TestTryAcquireOrRenew 3, 5: another holder's Lease is taken after it stays unrenewed for its duration by the local clock [F67]", async () => {
    const s = server(bing(3));
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    expect([one.leader.isHeld(), s.calls]).toEqual([false, ["get"]]);
    await s.clock.until(() => one.leader.isHeld(), seconds(6), "the Lease to be taken");
    expect(s.clock.monotonic()).toBeGreaterThanOrEqual(3000);
    expect([s.spec()?.holderIdentity, s.spec()?.leaseTransitions, s.calls.slice(-2)]).toEqual([
      "baz",
      1,
      ["get", "update"],
    ]);
    one.stop.abort();
    await one.ended;
  });
});

test("TestTryAcquireOrRenew sequence: a renewal is a single update, preceded by a read only after a conflict [F67]", async () => {
  const s = server(undefined);
  const one = s.candidate();
  await s.clock.advance(seconds(2));
  expect(s.calls).toEqual(["get", "create", "update", "update"]);
  // Another writer changes the Lease and keeps its holder.
  s.state.beforeUpdate = () => void s.write({ ...s.spec() });
  await s.clock.advance(seconds(2));
  expect(s.calls.slice(4)).toEqual(["update", "get", "update", "update"]);
  one.stop.abort();
  await one.ended;
});

describe("TestReleaseLease", () => {
  test("TestReleaseLease: a release empties the holder, without a read before it in Fairlead [F67]", async () => {
    const s = server(undefined);
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    one.stop.abort();
    await one.ended;
    expect([s.spec()?.holderIdentity, s.spec()?.leaseDurationSeconds, s.calls]).toEqual([
      "",
      1,
      ["get", "create", "update"],
    ]);
  });

  test("TestReleaseMethodCallsGet, TestReleaseRetriesOnConflict: a release reads the Lease again after a conflict and succeeds [F67]", async () => {
    const s = server(undefined);
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    s.state.beforeUpdate = () => void s.write({ ...s.spec() });
    one.stop.abort();
    await one.ended;
    expect([s.spec()?.holderIdentity, s.calls]).toEqual(["", ["get", "create", "update", "get", "update"]]);
  });

  test("TestReleaseMethodCallsGet, TestReleaseDoesNotClearAnotherHolder: a release leaves a Lease that another holder has taken [F67]", async () => {
    const s = server(undefined);
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    s.state.beforeUpdate = () => void s.write(bing(10));
    one.stop.abort();
    await one.ended;
    expect(s.spec()?.holderIdentity).toBe("bing");
  });

  test("TestReleaseOnCancellation: a release succeeds after a cancelled renewal [F67]", async () => {
    const s = server(undefined);
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    s.state.isSilent = true;
    await s.clock.advance(seconds(1));
    expect(s.calls).toEqual(["get", "create", "update"]);
    s.state.isSilent = false;
    one.stop.abort();
    await one.ended;
    expect([s.spec()?.holderIdentity, s.calls.slice(3)]).toEqual(["", ["update", "get", "update"]]);
  });
});

describe("TestWriteGateMethods", () => {
  test("TestRecoveryReopensGateAfterTransientFailure: writes stop before the Lease can expire, and continue after a renewal [N14]", async () => {
    const s = server(undefined);
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    s.state.isSilent = true;
    await s.clock.advance(seconds(9));
    expect(one.leader.isHeld()).toBe(false);
    s.state.isSilent = false;
    await s.clock.until(() => one.leader.isHeld(), seconds(20), "a renewal");
    one.stop.abort();
    await one.ended;
  });

  test("TestWriteGateMethods: a closed gate lets reads through and sends no write [N14]", async () => {
    const { api, seen } = scripted(() => json({ items: [], metadata: {} }));
    const closed = api.as({ mayWrite: () => ({ reason: "the Lease is lost." }) });
    const send = (verb: "get" | "list" | "create" | "update" | "patch" | "delete") =>
      closed
        .request({ verb, resource: "nodes", path: "/api/v1/nodes" }, new AbortController().signal)
        .then(() => "sent")
        .catch(({ kind }: { readonly kind: string }) => kind);
    const verbs = ["get", "list", "create", "update", "patch", "delete"] as const;
    expect(await Promise.all(verbs.map(send))).toEqual([
      ...["sent", "sent"],
      ...["fenced", "fenced", "fenced", "fenced"],
    ]);
    expect(seen).toHaveLength(2);
  });
});

test("TestLeaderElectionConfigValidation: an empty identity is refused", () => {
  const { api, clock } = scripted(() => json({}));
  const make = () =>
    new LeaderElection({
      api,
      clock,
      random: seededRandom(1),
      namespace: "ns",
      name: "foo",
      identity: "",
      onAcquired: () => undefined,
      onLost: () => undefined,
    });
  expect(make).toThrow("identity");
});

test("TestLeaseConversion: unknown fields of a Lease survive every write [F67]", async () => {
  const s = server({ ...bing(1), strategy: "OldestEmulationVersion" } as LeaseSpec);
  const one = s.candidate();
  await s.clock.until(() => one.leader.isHeld(), seconds(4), "the Lease to be taken");
  expect(s.spec()).toMatchObject({ strategy: "OldestEmulationVersion", holderIdentity: "baz" });
  one.stop.abort();
  await one.ended;
  expect(s.spec()).toMatchObject({ strategy: "OldestEmulationVersion", holderIdentity: "" });
});

describe("TestLeaderElectionHealthChecker", () => {
  const tolerance = seconds(20);
  const led = async (silentFor: number) => {
    const s = server(undefined);
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    const jump = silentFor * 1000;
    // The process was paused for that long, and its loop has not detected it yet.
    const monotonic = s.clock.monotonic.bind(s.clock);
    s.clock.monotonic = () => monotonic() + jump;
    const reported = one.leader.health(tolerance);
    s.clock.monotonic = monotonic;
    one.stop.abort();
    await one.ended;
    return reported;
  };

  test("TestLeaderElectionHealthChecker 1: is healthy without an election [F67]", () => {
    const { api, clock } = scripted(() => json({}));
    const idle = new LeaderElection({
      api,
      clock,
      random: seededRandom(1),
      namespace: "ns",
      name: "foo",
      identity: "baz",
      onAcquired: () => undefined,
      onLost: () => undefined,
    });
    expect(idle.health(tolerance)).toBeUndefined();
  });
  test("TestLeaderElectionHealthChecker 2: is unhealthy when this replica's Lease expired an hour ago [F67]", async () => {
    expect(await led(3600)).toBe("failed election to renew leadership on lease foo");
  });
  test("TestLeaderElectionHealthChecker 3: is healthy when another holder's Lease expired [F67]", async () => {
    const s = server(bing(10));
    const one = s.candidate();
    await s.clock.advance(seconds(0));
    const monotonic = s.clock.monotonic.bind(s.clock);
    s.clock.monotonic = () => monotonic() + 3_600_000;
    expect(one.leader.health(tolerance)).toBeUndefined();
    s.clock.monotonic = monotonic;
    one.stop.abort();
    await one.ended;
  });
  test("TestLeaderElectionHealthChecker 4: is healthy while this replica's Lease is valid [F67]", async () => {
    expect(await led(9)).toBeUndefined();
  });
  test("TestLeaderElectionHealthChecker 5: is healthy when this replica's Lease expired within the tolerance [F67]", async () => {
    expect(await led(11)).toBeUndefined();
  });
});
