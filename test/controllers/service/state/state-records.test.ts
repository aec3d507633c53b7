import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  ServiceRecord,
  type ServiceState,
} from "../../../../src/controllers/service/state/service-record.ts";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { milliseconds, serviceUID } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../../src/provider/load-balancers.ts";

// The record of a Service: only the files in the folder state change it, and it lasts until nothing is left to do.

const folder = join(import.meta.dir, "../../../../src/controllers/service");
const uid = serviceUID("web");
const web = serviceOf("web");
const balancer: ObservedLoadBalancer = { name: "b1", owners: [uid], ownership: "ours", state: "ready" };
const change = { observed: balancer, duplicates: [], steps: [{ do: "set" }], isLeaving: false };
const removal = { ...change, steps: [{ do: "remove", removes: true as const }], isLeaving: true };

/** All Services have the same name. */
function serviceOf(name: string): Service {
  const metadata = { name: "web", namespace: "default", uid: name };
  return { metadata, spec: { type: "LoadBalancer" }, status: {} } as Service;
}

const newRecord = () => {
  const records = new ServiceRecords();
  return { records, state: records.manage(web) };
};

/** Each part of a record, except its name, with a value that differs from a new record's. */
function fill(): { readonly record: ServiceRecord; readonly filled: Readonly<Record<string, unknown>> } {
  const record = new ServiceRecord("default/web", uid);
  const names = Object.keys(record).filter((name) => name !== "key" && name !== "uid");
  const filled: Readonly<Record<string, unknown>> = Object.fromEntries(
    names.map((name) => [name, { filled: name }]),
  );
  return { record: Object.assign(record, filled), filled };
}

describe("the record of a Service", () => {
  test("the record of a Service cannot be written through the view that stages get", () => {
    const { state } = newRecord();
    const writes = (): void => {
      // @ts-expect-error A stage may only read.
      state.hold = undefined;
      // @ts-expect-error The store decides whether there is something to do.
      state.phase = "idle";
      // @ts-expect-error Only methods of the record change what a session has observed.
      state.session.observation = undefined;
      // @ts-expect-error Only methods of the record change the progress.
      state.progress.noteFailure();
      // @ts-expect-error Only methods of the record change the evidence.
      state.evidence.noteShown();
      // @ts-expect-error Only methods of the record change the refusals.
      state.session.refused.clear();
      // @ts-expect-error Only methods of the record change what was published.
      state.published.clear();
    };
    expect(writes).toBeInstanceOf(Function);
    expect(state.hold).toBeUndefined();
  });

  test("only files in the folder state write the record of a Service", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((path) => path.replaceAll("\\", "/"))
      .filter((path) => path.endsWith(".ts") && !path.startsWith("state/"));
    const writers = files.filter((path) =>
      /\bServiceRecord\b/.test(readFileSync(join(folder, path), "utf8")),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(writers).toEqual([]);
  });

  test("the record of a Service only loses facts that another replica may have changed when a session begins", () => {
    const { record, filled } = fill();
    const lost = (): readonly string[] => {
      const after: Readonly<Record<string, unknown>> = { ...record };
      return Object.keys(filled).filter((name) => after[name] !== filled[name]);
    };
    record.beginSession({ hasOtherLed: false });
    expect(lost()).toEqual(["session"]);
    record.beginSession({ hasOtherLed: true });
    expect(lost().toSorted()).toEqual(["operation", "session"]);
    expect(record.session).toEqual(new ServiceRecord("default/web", uid).session);
    expect(Object.keys(record.session).toSorted()).toEqual([
      ...["backoffUntil", "change", "duplicates", "health", "lastCompleted"],
      ...["managed", "observation", "refused", "reportedHealth", "targetsLostAt"],
    ]);
  });

  test("the record of a Service stays current in a reconcile that began before a change", () => {
    const { records, state } = newRecord();
    records.get(uid)?.outdate(5);
    expect(state.changedAt).toBe(5);
  });

  test("the record of a Service closes the watch of endpoints when it no longer chooses targets by them", () => {
    const { records, state } = newRecord();
    let closed = 0;
    const subscription = {
      close: () => {
        closed += 1;
      },
    };
    state.openEndpoints(subscription);
    const valid = { lastSettings: undefined, lastRanges: undefined, lastTargetRules: undefined } as const;
    const said = { ...valid, onDelete: undefined } as const;
    const rules = { policy: "endpoints", drain: milliseconds(0) } as const;
    records.noteRead(uid, { ...said, lastTargetRules: rules }, { isServed: true });
    expect([closed, state.endpoints]).toEqual([0, subscription]);
    records.noteRead(uid, said, { isServed: true });
    expect([closed, state.endpoints]).toEqual([1, undefined]);
  });
});

describe("the records of Services", () => {
  test("keeps a record until its Service needs nothing and has no load balancer", () => {
    const { records, state } = newRecord();
    const count = (): number => {
      records.end(uid);
      return records.all.length;
    };
    const counts = [count()];
    records.leave("default/web");
    state.noteGone(1);
    counts.push(count());
    records.dismiss(uid);
    expect([...counts, count(), records.get(uid)]).toEqual([1, 1, 0, undefined]);
  });

  test("keeps the data for a release while the load balancer of a vanished Service is released", () => {
    const { records, state } = newRecord();
    Object.assign(state, { said: { onDelete: "on hold" }, released: ["b1"] });
    records.leave("default/web");
    records.end(uid);
    expect(records.get(uid)).toMatchObject({ said: { onDelete: "on hold" }, released: ["b1"] });
  });

  test("keeps the records of a vanished Service and of a new Service with its name separate", () => {
    const { records } = newRecord();
    records.leave("default/web");
    const { uid: next } = records.manage(serviceOf("next"));
    expect(records.managed("default/web")?.uid).toBe(next);
    expect(records.active.map(({ phase }) => phase)).toEqual(["leaving", "managed"]);
    records.dismiss(uid);
    records.end(uid);
    expect([records.managed("default/web")?.uid, records.all.length]).toEqual([next, 1]);
  });

  test("manages a Service again that returns before its load balancer was removed", () => {
    const { records, state } = newRecord();
    records.leave("default/web");
    state.noteGone(1);
    records.manage(web);
    expect([records.managed("default/web"), state.phase, state.goneAt]).toEqual([
      state,
      "managed",
      undefined,
    ]);
  });

  test("closes the watch of endpoints as soon as the Service is gone, although its load balancer still exists", () => {
    const { records, state } = newRecord();
    let closed = 0;
    state.openEndpoints({
      close: () => {
        closed += 1;
      },
    });
    records.leave("default/web");
    expect([closed, records.hasTargetSelector]).toEqual([1, false]);
  });

  test("closes the watch of endpoints when a record ends", () => {
    const { records, state } = newRecord();
    let closed = 0;
    state.openEndpoints({
      close: () => {
        closed += 1;
      },
    });
    records.dismiss(uid);
    records.end(uid);
    expect(closed).toBe(1);
  });

  test.each([
    [true, [true, true]],
    [false, [true, false]],
  ])(
    "knows a Service after its record has ended if marks do not name the cluster: %p",
    (remembersFormer, known) => {
      const records = new ServiceRecords({ remembersFormer });
      expect(records.wasKnown(uid)).toBe(false);
      records.manage(web);
      const before = records.wasKnown(uid);
      records.dismiss(uid);
      records.end(uid);
      expect([before, records.wasKnown(uid)]).toEqual(known);
    },
  );
});

describe("a change of a Service", () => {
  test("announces a growing change of targets with its largest size until it is complete", () => {
    const { state } = newRecord();
    const began: (ServiceState["session"]["change"] | undefined)[] = [];
    for (const kind of ["update", "ensure", "update"] as const) {
      state.beginChange(kind, change);
      began.push(state.session.change);
    }
    expect(began).toEqual(["update", "ensure", "ensure"]);
    state.complete({ targets: "t", spec: "s", list: [] });
    expect([state.session.change, state.knownSpec]).toEqual([undefined, "s"]);
  });

  test("a failed change makes earlier listings outdated, and is remembered until its error is reported", () => {
    const { state } = newRecord();
    state.backOff(9);
    state.noteChangeSent(change, 3, "update");
    expect([state.changedAt, state.failedChange, state.session.backoffUntil]).toEqual([3, "update", 9]);
    state.noteErrorHandled();
    expect(state.failedChange).toBeUndefined();
  });

  test("a change that the cloud accepted ends the backoff", () => {
    const { state } = newRecord();
    state.backOff(9);
    state.noteChangeSent(change, 3, undefined);
    expect(state.session.backoffUntil).toBeUndefined();
  });

  test("a change that is an operation proves that a load balancer exists only when it is done", () => {
    const { state } = newRecord();
    const step = { hash: "h", at: 1, operation: "o", isLast: true, removes: false };
    state.noteStepInProgress({ ...change, observed: undefined }, step);
    expect(state.evidence.certainty).toBe("possible");
    state.endOperation(2, "done");
    expect([state.evidence.certainty, state.changedAt]).toEqual(["exists", 2]);
  });

  test("a change removes a load balancer only with a cloud answer as proof", () => {
    const { state } = newRecord();
    state.noteShown();
    state.noteStepsDone(removal, 1, false);
    expect(state.evidence).toMatchObject({ certainty: "exists", removal: "sent", changedAt: 1 });
  });

  test("a Service still has a load balancer after one of several load balancers is removed", () => {
    const { state } = newRecord();
    state.noteShown();
    state.noteStepsDone({ ...removal, duplicates: [balancer] }, 1, true);
    expect(state.evidence.certainty).toBe("exists");
    state.noteStepsDone(removal, 1, true);
    expect(state.evidence.certainty).toBeUndefined();
  });

  test("a change by a user resets the waiting time and the backoff", () => {
    const { state } = newRecord();
    state.beginWait(1);
    state.beginWait(2);
    expect(state.waitingSince).toBe(1);
    state.noteServiceChange();
    expect([state.waitingSince, state.progress.changeDelay]).toEqual([undefined, milliseconds(0)]);
  });
});
