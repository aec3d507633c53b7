import { expect, test } from "bun:test";
import type { Member } from "../../../src/controllers/service/desired/member.ts";
import { type GroupAtHand, selectMembers } from "../../../src/controllers/service/desired/select-members.ts";
import { serviceUID } from "../../../src/core/brand.ts";

// Who of a group is planned with: by table, since each row is a balancer that must or must not be touched.

const [here, left] = [serviceUID("here"), serviceUID("left")];
const wrong = { severity: "error", reason: "Wrong", text: "it is wrong" } as const;
const member = (given: Partial<Member> = {}): Member =>
  ({ desired: { owner: { uid: here } }, problems: [], isBlocked: false, isHeld: false, ...given }) as never;
const observed = { group: "g", owners: [here], ownership: "ours", state: "ready" } as const;
const group = (given: Partial<GroupAtHand>): GroupAtHand => ({
  all: [member()],
  observed,
  owed: [],
  isHeld: () => false,
  isStillUsed: () => false,
  ...given,
});

test.each([
  ["whoever is right", {}, "plan"],
  ["an error on what exists", { all: [member({ problems: [wrong] })] }, "plan"],
  [
    "an error on what does not exist",
    { all: [member({ problems: [wrong] })], observed: undefined },
    "nobody",
  ],
  ["a teardown that is held", { all: [member({ isHeld: true })] }, "nobody"],
  ["one that is held beside one that has gone", { all: [member({ isHeld: true })], owed: [left] }, "plan"],
  [
    "one that has gone while another still uses it",
    { all: [], owed: [left], isStillUsed: () => true },
    "nobody",
  ],
  [
    "one that has gone and nobody knows what it meant",
    { all: [], owed: [left], isHeld: () => true },
    "orphan",
  ],
  ["one that has gone", { all: [], owed: [left] }, "plan"],
  ["one of whom nobody knows what is meant", { all: [member(), member({ isBlocked: true })] }, "only show"],
] as const satisfies readonly (readonly [string, Partial<GroupAtHand>, string])[])(
  "of a group with %s",
  (_, given, kind) => expect(selectMembers(group(given)).kind).toBe(kind),
);

test("nobody takes part who is held or refused, and nothing is taken down of whom nobody knows what it meant", () => {
  const [right, held] = [member(), member({ isHeld: true })];
  const refused = member({ desired: { owner: { uid: left } } as never, problems: [wrong] });
  const taking = selectMembers(
    group({ all: [right, held, refused], owed: [here, left], isHeld: (uid) => uid === left }),
  );
  expect(taking).toEqual({ kind: "plan", members: [right], gone: [here] });
});

test("what ends is not shown while another one is blocked", () => {
  const ending = member({ desired: { owner: { uid: here }, ending: "delete" } as never });
  const blocked = member({ isBlocked: true });
  expect(selectMembers(group({ all: [ending, blocked] }))).toEqual({ kind: "only show", members: [blocked] });
});
