import { expect, test } from "bun:test";
import type { Member } from "../../../src/controllers/service/desired/member.ts";
import { type GroupAtHand, selectMembers } from "../../../src/controllers/service/desired/select-members.ts";
import { serviceUID } from "../../../src/core/brand.ts";

// Which members of a group are planned, as a table: each row is a load balancer that must or must not be changed.

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
  ["a valid member", {}, "plan"],
  ["an invalid member of an existing load balancer", { all: [member({ problems: [wrong] })] }, "plan"],
  [
    "an invalid member without load balancer",
    { all: [member({ problems: [wrong] })], observed: undefined },
    "nobody",
  ],
  ["a deletion on hold", { all: [member({ isHeld: true })] }, "nobody"],
  ["a deletion on hold and a former member", { all: [member({ isHeld: true })], owed: [left] }, "plan"],
  [
    "a former member that another group still uses",
    { all: [], owed: [left], isStillUsed: () => true },
    "nobody",
  ],
  ["a former member with unknown on-delete", { all: [], owed: [left], isHeld: () => true }, "orphan"],
  ["a former member", { all: [], owed: [left] }, "plan"],
  ["a member that is blocked", { all: [member(), member({ isBlocked: true })] }, "only show"],
] as const satisfies readonly (readonly [string, Partial<GroupAtHand>, string])[])(
  "selectMembers decides for a group with %s",
  (_, given, kind) => expect(selectMembers(group(given)).kind).toBe(kind),
);

test("selectMembers leaves out held and refused members, and former members whose on-delete is unknown", () => {
  const [right, held] = [member(), member({ isHeld: true })];
  const refused = member({ desired: { owner: { uid: left } } as never, problems: [wrong] });
  const taking = selectMembers(
    group({ all: [right, held, refused], owed: [here, left], isHeld: (uid) => uid === left }),
  );
  expect(taking).toEqual({ kind: "plan", members: [right], gone: [here] });
});

test("selectMembers does not show an ending member while another one is blocked", () => {
  const ending = member({ desired: { owner: { uid: here }, ending: "delete" } as never });
  const blocked = member({ isBlocked: true });
  expect(selectMembers(group({ all: [ending, blocked] }))).toEqual({ kind: "only show", members: [blocked] });
});
