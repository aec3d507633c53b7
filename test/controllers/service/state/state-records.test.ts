import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  GroupRecord,
  type GroupReset,
  type GroupState,
  groupLifetimes,
} from "../../../../src/controllers/service/state/group-state.ts";
import { GroupStates } from "../../../../src/controllers/service/state/group-states.ts";
import { ServiceRecord, ServiceStates } from "../../../../src/controllers/service/state/service-states.ts";
import { milliseconds, serviceUID } from "../../../../src/core/brand.ts";

// The records of groups and Services: only the files of the folder state change them. A table defines how long each part of a group lasts.

const uid = serviceUID("web");
const folder = join(import.meta.dir, "../../../../src/controllers/service");
const balancer = { group: "g", ownership: "ours", owners: [uid] } as never;
const change = { observed: balancer, duplicates: [], steps: [{ do: "set" }], serving: [uid], leaving: [] };
const removal = { ...change, steps: [{ do: "remove", removes: true }], serving: [], leaving: [uid] } as const;

const newGroups = () => {
  const groups = new GroupStates(new ServiceStates());
  return { groups, state: groups.of("g") };
};

describe("the record of a group", () => {
  test("cannot be written through the view that stages get", () => {
    const { state } = newGroups();
    const writes = (): void => {
      // @ts-expect-error A stage may only read.
      state.hold = undefined;
      // @ts-expect-error The store assigns members.
      state.members.add("default/web");
      // @ts-expect-error Only methods of the record change the progress.
      state.progress.noteFailure();
      // @ts-expect-error Only methods of the record change the evidence.
      state.evidence.noteShown([uid]);
      // @ts-expect-error Only methods of the record add a step.
      state.recentSteps.forget("add");
    };
    expect(writes).toBeInstanceOf(Function);
    expect(state.hold).toBeUndefined();
  });

  test("is written only by files of the folder state", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((path) => path.replaceAll("\\", "/"))
      .filter((path) => path.endsWith(".ts") && !path.startsWith("state/"));
    const writers = files.filter((path) =>
      /\b(GroupRecord|ServiceRecord)\b/.test(readFileSync(join(folder, path), "utf8")),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(writers).toEqual([]);
  });

  test("has an entry in the table of lifetimes for each of its parts", () => {
    const parts = Object.keys(new GroupRecord("g")).filter((name) => name !== "group");
    expect(Object.keys(groupLifetimes).toSorted()).toEqual(parts.toSorted());
  });

  test.each<GroupReset>(["session", "gone", "left"])("loses exactly what ends with: %s", (event) => {
    const record = new GroupRecord("g");
    const filled: Readonly<Record<string, unknown>> = Object.fromEntries(
      Object.keys(groupLifetimes).map((name) => [name, { filled: name }]),
    );
    Object.assign(record, filled);
    record.reset(event);
    const after: Readonly<Record<string, unknown>> = { ...record };
    const lost = Object.keys(filled).filter((name) => after[name] !== filled[name]);
    const expected = Object.entries(groupLifetimes).filter(([, events]) => events.includes(event));
    expect(lost).toEqual(expected.map(([name]) => name));
    const fresh: Readonly<Record<string, unknown>> = { ...new GroupRecord("g") };
    for (const name of lost) expect(after[name]).toEqual(fresh[name]);
  });

  test("stays current in a reconcile that began before a change", () => {
    const { groups, state } = newGroups();
    groups.of("g").outdate(5);
    expect(state.changedAt).toBe(5);
  });
});

describe("a change of a group", () => {
  test("from targets to more is announced as the larger one until it is complete", () => {
    const { state } = newGroups();
    const began: (GroupState["change"] | undefined)[] = [];
    for (const kind of ["update", "ensure", "update"] as const) {
      state.beginChange(kind, change);
      began.push(state.change);
    }
    expect(began).toEqual(["update", "ensure", "ensure"]);
    state.complete({ targets: "t", spec: "s", lists: [] });
    expect([state.change, state.knownSpec]).toEqual([undefined, "s"]);
  });

  test("that failed makes earlier listings outdated and is remembered until its error is reported", () => {
    const { state } = newGroups();
    state.backOff(9);
    state.noteChangeSent(change, 3, "update");
    expect([state.changedAt, state.failedChange, state.backoffUntil]).toEqual([3, "update", 9]);
    state.noteErrorHandled();
    expect(state.failedChange).toBeUndefined();
  });

  test("that the cloud accepted ends the backoff", () => {
    const { state } = newGroups();
    state.backOff(9);
    state.noteChangeSent(change, 3, undefined);
    expect(state.backoffUntil).toBeUndefined();
  });

  test("that is an operation proves that a load balancer exists only when it is done", () => {
    const { state } = newGroups();
    const step = { hash: "h", at: 1, isOperation: true, isLast: true, removes: false };
    state.noteStepInProgress({ ...change, observed: undefined }, step);
    expect(state.evidence.get(uid)?.certainty).toBe("possible");
    state.endOperation(2, "done");
    expect([state.evidence.get(uid)?.certainty, state.changedAt]).toEqual(["exists", 2]);
  });

  test("that removes a load balancer needs an answer of the cloud as proof", () => {
    const { state } = newGroups();
    state.noteShown([uid]);
    state.noteStepsDone(removal, 1, false);
    expect(state.evidence.get(uid)).toMatchObject({ certainty: "exists", removal: "sent", changedAt: 1 });
  });

  test("that removes one of several load balancers leaves its owners with one", () => {
    const { state } = newGroups();
    state.noteShown([uid]);
    state.noteStepsDone({ ...removal, duplicates: [balancer] }, 1, true);
    expect(state.evidence.uids).toEqual([uid]);
    state.noteStepsDone(removal, 1, true);
    expect(state.evidence.uids).toEqual([]);
  });

  test("of a Service starts waits and counts over", () => {
    const { state } = newGroups();
    state.beginWait(1);
    state.beginWait(2);
    expect(state.waitingSince).toBe(1);
    state.noteServiceChange();
    expect([state.waitingSince, state.progress.changeDelay]).toEqual([undefined, milliseconds(0)]);
  });
});

describe("the record of a Service", () => {
  test("cannot be written through the view that stages get", () => {
    const state = new ServiceStates().create("default/web", uid);
    const writes = (): void => {
      // @ts-expect-error A stage may only read.
      state.releasedName = "lb-1";
      // @ts-expect-error Only methods of the record change the refusals.
      state.refused.clear();
      // @ts-expect-error Only methods of the record change what was published.
      state.published.clear();
    };
    expect(writes).toBeInstanceOf(Function);
    expect(state.releasedName).toBeUndefined();
  });

  test("keeps only what the release needs while its load balancer is being released", () => {
    const states = new ServiceStates();
    const state = states.create("default/web", uid);
    const names = Object.keys(new ServiceRecord("default/web", uid));
    const filled: Readonly<Record<string, unknown>> = Object.fromEntries(
      names
        .filter((name) => !["key", "uid"].includes(name))
        .map((name) => [name, { filled: name, close: () => undefined }]),
    );
    states.drop(Object.assign(state, filled), true);
    const kept: Readonly<Record<string, unknown>> = { ...states.get(uid) };
    expect(Object.keys(filled).filter((name) => kept[name] === filled[name])).toEqual([
      ...["onDelete", "releasedName"],
    ]);
  });

  test("closes the watch of endpoints when it no longer chooses targets by them", () => {
    const states = new ServiceStates();
    const state = states.create("default/web", uid);
    let closed = 0;
    const subscription = {
      close: () => {
        closed += 1;
      },
    };
    state.openEndpoints(subscription);
    const valid = { lastSettings: undefined, lastRanges: undefined, lastTargetRules: undefined } as const;
    const read = { ...valid, onDelete: undefined, isServed: true } as const;
    states.noteRead(state, { ...read, lastTargetRules: { policy: "endpoints", drain: milliseconds(0) } });
    expect([closed, state.endpoints]).toEqual([0, subscription]);
    states.noteRead(state, read);
    expect([closed, state.endpoints]).toEqual([1, undefined]);
  });
});
