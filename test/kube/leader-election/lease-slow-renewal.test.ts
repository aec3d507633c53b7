import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { LeaderElection } from "../../../src/kube/leader-election/leader-election.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { TransportRequest } from "../../../src/platform/transport.ts";
import { json, scripted } from "../support/scripted.ts";

/** A server that stores a write immediately and responds three seconds later. */
const slowServer = () => {
  const written: TransportRequest[] = [];
  const server = scripted((request) => {
    if (request.method === "GET") return json({}, 404);
    written.push(request);
    const { metadata, ...rest } = JSON.parse(String(request.body));
    const stored = { ...rest, metadata: { ...metadata, uid: "u", resourceVersion: String(written.length) } };
    return new Promise((resolve) => server.clock.after(seconds(3), () => resolve(json(stored))));
  });
  return { ...server, written };
};

test("a leader counts the age of its Lease from when a renewal was sent, so it stops writing before another replica may lead", async () => {
  const { api, clock, written } = slowServer();
  const leader = new LeaderElection({
    api: api.as({ lane: "reserved" }),
    clock,
    random: seededRandom(1),
    namespace: "kube-system",
    name: "ccm",
    identity: "one",
    onAcquired: () => undefined,
    onLost: () => undefined,
  });
  const stop = new AbortController();
  const ended = leader.run(stop.signal);
  await clock.until(() => leader.isHeld(), seconds(5), "the lease");
  expect([written.at(-1)?.method, leader.age()]).toEqual(["POST", seconds(3)]);
  await clock.advance(seconds(5));
  // Sent two seconds after the first response. Other replicas count from the write, not from its response.
  expect([written.at(-1)?.method, leader.age()]).toEqual(["PUT", seconds(3)]);
  stop.abort();
  await clock.advance(seconds(5));
  await ended;
});
