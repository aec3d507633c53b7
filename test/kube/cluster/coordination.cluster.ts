// Leases and events on a real API server.

import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { LeaderElection } from "../../../src/kube/leader-election/leader-election.ts";
import type { Event } from "../../../src/kube/objects.ts";
import { events, leases } from "../../../src/kube/resources.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { connect, never } from "./connect.ts";

export const cases = (kubeconfigPath: string): void => {
  test("leader election takes, renews and releases a Lease, and the next candidate takes it immediately", async () => {
    const api = await connect(kubeconfigPath);
    const lease = { namespace: "kube-system", name: `election-${Date.now().toString(36)}` };
    const reported: string[] = [];
    const candidate = (identity: string) =>
      new LeaderElection({
        api: api.as({ lane: "reserved" }),
        clock: systemClock,
        random: systemRandom,
        ...lease,
        identity,
        leaseDuration: seconds(3),
        renewDeadline: seconds(2),
        retryPeriod: milliseconds(200),
        onAcquired: () => reported.push(`${identity} leads`),
        onLost: (reason) => reported.push(`${identity} lost: ${reason}`),
        onProblem: (error) => reported.push(String(error)),
      });
    const [one, two] = [candidate("one"), candidate("two")];
    const stopOne = new AbortController();
    const stopTwo = new AbortController();
    const first = one.run(stopOne.signal);
    while (!one.isHeld()) await Bun.sleep(20);
    const second = two.run(stopTwo.signal);
    await Bun.sleep(900);
    expect([one.isHeld(), two.isHeld(), two.holder]).toEqual([true, false, "one"]);
    stopOne.abort();
    await first;
    // The other candidate may have taken the Lease since.
    expect(["", "two"]).toContain((await api.get(leases, lease, never)).spec?.holderIdentity ?? "");
    two.nudge();
    while (!two.isHeld()) await Bun.sleep(20);
    const { spec } = await api.get(leases, lease, never);
    expect([spec?.holderIdentity, spec?.leaseTransitions, spec?.leaseDurationSeconds]).toEqual(["two", 1, 3]);
    stopTwo.abort();
    await second;
    expect(reported).toEqual(["one leads", "two leads"]);
    await api.delete(leases, lease, {}, never);
  });

  test("the event recorder writes each event once, and counts equal events", async () => {
    const api = await connect(kubeconfigPath);
    const stop = new AbortController();
    const lost: unknown[] = [];
    const recorder = new EventRecorder({
      api,
      clock: systemClock,
      random: systemRandom,
      onLost: (why, _, error) => lost.push(why, error),
    });
    const running = recorder.run(stop.signal);
    const mark = `mark-${Date.now().toString(36)}`;
    const about = (name: string) => ({ apiVersion: "v1", kind: "Node", name, uid: name });
    const report = (name: string) =>
      recorder.record({
        component: "cloud-node-controller",
        object: about(name),
        type: "Normal",
        reason: "Synced",
        message: mark,
      });
    for (let n = 0; n < 200; n++) report(`${mark}-${n}`);
    await recorder.whenIdle(never);
    report(`${mark}-0`);
    report(`${mark}-0`);
    await recorder.whenIdle(never);
    const page = await api.listPage(events, { namespace: "default" }, never);
    const written = page.items.filter((event: Event) => event.message === mark);
    expect(written.length).toBe(200);
    expect(written.find(({ involvedObject }) => involvedObject.name === `${mark}-0`)?.count).toBe(3);
    expect(written[0]?.involvedObject.apiVersion).toBe("v1");
    expect(lost).toEqual([]);
    stop.abort();
    await running;
  });

  test("the event recorder of the next process continues the count of an event", async () => {
    const api = await connect(kubeconfigPath);
    const mark = `again-${Date.now().toString(36)}`;
    for (let process = 0; process < 3; process++) {
      const stop = new AbortController();
      const recorder = new EventRecorder({ api, clock: systemClock, random: systemRandom });
      const running = recorder.run(stop.signal);
      recorder.record({
        component: "cloud-node-controller",
        object: { apiVersion: "v1", kind: "Node", name: mark, uid: mark },
        type: "Normal",
        reason: "Synced",
        message: mark,
      });
      await recorder.whenIdle(never);
      stop.abort();
      await running;
    }
    const page = await api.listPage(events, { namespace: "default" }, never);
    const written = page.items.filter((event: Event) => event.message === mark);
    expect(written.map(({ count }) => count)).toEqual([3]);
  });
};
