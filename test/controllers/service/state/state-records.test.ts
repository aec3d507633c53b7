import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type GroupReset,
  type GroupState,
  groupLifetimes,
  newGroup,
  resetGroup,
} from "../../../../src/controllers/service/state/group-record.ts";
import { GroupStates } from "../../../../src/controllers/service/state/group-states.ts";
import {
  newService,
  ServiceStates,
  serviceLifetimes,
  untilReleased,
} from "../../../../src/controllers/service/state/service-states.ts";
import { milliseconds, serviceUID } from "../../../../src/core/brand.ts";

// The records of a group and of a Service: only `commit` changes it, and a table defines how long each part lasts.

const uid = serviceUID("web");
const folder = join(import.meta.dir, "../../../../src/controllers/service");
const owners = { serving: [uid], leaving: [], isOnlyOne: true };

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
      // @ts-expect-error Pacing changes with what happens.
      state.progress.noteFailure();
      // @ts-expect-error Evidence changes with what happens.
      state.evidence.noteShown([uid]);
    };
    expect(writes).toBeInstanceOf(Function);
    expect(state.hold).toBeUndefined();
  });

  test("is written only by files of the folder state", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((path) => path.replaceAll("\\", "/"))
      .filter((path) => path.endsWith(".ts") && !path.startsWith("state/"));
    const writers = files.filter((path) =>
      /\b(GroupRecord|newGroup|resetGroup|applyChange|ServiceRecord|newService)\b/.test(
        readFileSync(join(folder, path), "utf8"),
      ),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(writers).toEqual([]);
  });

  test("has an entry in the table of lifetimes for each of its parts", () => {
    const parts = Object.keys(newGroup("g")).filter((name) => name !== "group");
    expect(Object.keys(groupLifetimes).toSorted()).toEqual(parts.toSorted());
  });

  test.each<GroupReset>(["session", "gone", "left"])("loses exactly what ends with: %s", (event) => {
    const record = newGroup("g");
    const filled: Readonly<Record<string, unknown>> = Object.fromEntries(
      Object.keys(groupLifetimes).map((name) => [name, { filled: name }]),
    );
    Object.assign(record, filled);
    resetGroup(record, event);
    const after: Readonly<Record<string, unknown>> = { ...record };
    const lost = Object.keys(filled).filter((name) => after[name] !== filled[name]);
    const expected = Object.entries(groupLifetimes).filter(([, { endsWith }]) => endsWith.includes(event));
    expect(lost).toEqual(expected.map(([name]) => name));
    const fresh: Readonly<Record<string, unknown>> = { ...newGroup("g") };
    for (const name of lost) expect(after[name]).toEqual(fresh[name]);
  });

  test("stays current in a reconcile that began before a change", () => {
    const { groups, state } = newGroups();
    groups.commit(groups.of("g"), { kind: "outdated", at: 5 });
    expect(state.changedAt).toBe(5);
  });
});

describe("a change of a group", () => {
  test("from targets to more is announced as the larger one until it is complete", () => {
    const { groups, state } = newGroups();
    const began: (GroupState["change"] | undefined)[] = [];
    for (const change of ["update", "ensure", "update"] as const) {
      groups.commit(state, { kind: "changeBegan", change, steps: 1, isCreation: false, kept: undefined });
      began.push(state.change);
    }
    expect(began).toEqual(["update", "ensure", "ensure"]);
    groups.commit(state, { kind: "completed", desired: { targets: "t", spec: "s", lists: [] } });
    expect([state.change, state.knownSpec]).toEqual([undefined, "s"]);
  });

  test("that failed makes earlier listings outdated and is remembered until its error is reported", () => {
    const { groups, state } = newGroups();
    groups.commit(state, { kind: "backsOff", until: 9 });
    groups.commit(state, { kind: "changeSent", at: 3, failed: "update", isReplaced: false });
    expect([state.changedAt, state.failedChange, state.backoffUntil]).toEqual([3, "update", 9]);
    groups.commit(state, { kind: "errorHandled" });
    expect(state.failedChange).toBeUndefined();
  });

  test("that the cloud accepted ends the backoff", () => {
    const { groups, state } = newGroups();
    groups.commit(state, { kind: "backsOff", until: 9 });
    groups.commit(state, { kind: "changeSent", at: 3, failed: undefined, isReplaced: false });
    expect(state.backoffUntil).toBeUndefined();
  });

  test("that is an operation proves that a load balancer exists only when it is done", () => {
    const { groups, state } = newGroups();
    groups.commit(state, {
      kind: "stepInProgress",
      ...owners,
      hash: "h",
      at: 1,
      isOperation: true,
      isLast: true,
      isCreation: true,
      removes: false,
    });
    expect(state.evidence.get(uid)?.certainty).toBe("possible");
    groups.commit(state, { kind: "operationEnded", at: 2, result: "done" });
    expect([state.evidence.get(uid)?.certainty, state.changedAt]).toEqual(["exists", 2]);
  });

  test("that removes a load balancer needs an answer of the cloud as proof", () => {
    const { groups, state } = newGroups();
    groups.commit(state, { kind: "shown", owners: [uid] });
    const done = { ...owners, serving: [], leaving: [uid], at: 1, removes: true } as const;
    groups.commit(state, { kind: "stepsDone", ...done, isGone: false });
    expect(state.evidence.get(uid)).toMatchObject({ certainty: "exists", removal: "sent", changedAt: 1 });
  });

  test("that removes one of several load balancers leaves its owners with one", () => {
    const { groups, state } = newGroups();
    groups.commit(state, { kind: "shown", owners: [uid] });
    const done = { ...owners, serving: [], leaving: [uid], at: 1, removes: true, isGone: true } as const;
    groups.commit(state, { kind: "stepsDone", ...done, isOnlyOne: false });
    expect(state.evidence.uids).toEqual([uid]);
    groups.commit(state, { kind: "stepsDone", ...done });
    expect(state.evidence.uids).toEqual([]);
  });

  test("of a Service starts waits and counts over", () => {
    const { groups, state } = newGroups();
    groups.commit(state, { kind: "waits", at: 1 });
    groups.commit(state, { kind: "waits", at: 2 });
    expect(state.waitingSince).toBe(1);
    groups.commit(state, { kind: "serviceChanged" });
    expect([state.waitingSince, state.progress.changeDelay]).toEqual([undefined, milliseconds(0)]);
  });
});

describe("the record of a Service", () => {
  test("cannot be written through the view that stages get", () => {
    const state = new ServiceStates().create("default/web", uid);
    const writes = (): void => {
      // @ts-expect-error A stage may only read.
      state.releasedName = "lb-1";
      // @ts-expect-error The cloud's refusals are committed.
      state.refused.clear();
      // @ts-expect-error What was reported is committed.
      state.published.clear();
    };
    expect(writes).toBeInstanceOf(Function);
    expect(state.releasedName).toBeUndefined();
  });

  test("has an entry in the table of lifetimes for each of its parts", () => {
    const parts = Object.keys(newService("default/web", uid)).filter(
      (name) => !["key", "uid"].includes(name),
    );
    expect(Object.keys(serviceLifetimes).toSorted()).toEqual(parts.toSorted());
  });

  test("keeps until its release only what the table says", () => {
    const filled = Object.fromEntries(Object.keys(serviceLifetimes).map((name) => [name, { filled: name }]));
    const record = Object.assign(newService("default/web", uid), filled);
    const kept: Readonly<Record<string, unknown>> = { ...untilReleased(record) };
    const names = Object.keys(filled).filter((name) => kept[name] === filled[name]);
    expect(names).toEqual(["onDelete", "releasedName"]);
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
    states.commit(state, { kind: "endpointsOpened", subscription });
    const valid = { lastSettings: undefined, lastRanges: undefined, lastTargetRules: undefined } as const;
    const read = { kind: "read", ...valid, onDelete: undefined, isServed: true } as const;
    states.commit(state, { ...read, choosesEndpoints: true });
    expect([closed, state.endpoints]).toEqual([0, subscription]);
    states.commit(state, { ...read, choosesEndpoints: false });
    expect([closed, state.endpoints]).toEqual([1, undefined]);
  });
});
