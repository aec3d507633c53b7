import { expect, test } from "bun:test";
import {
  type GroupMembers,
  type Member,
  selectMembers,
} from "../../../../src/controllers/service/desired/members.ts";
import { serviceUID } from "../../../../src/core/brand.ts";

// Which members of a group are planned, as a table: each row is a load balancer that must or must not be changed.

const [here, left] = [serviceUID("here"), serviceUID("left")];
const wrong = { severity: "error", reason: "Wrong", text: "it is wrong" } as const;
const member = (given: Partial<Member> = {}): Member =>
  ({ desired: { owner: { uid: here } }, problems: [], isBlocked: false, isOnHold: false, ...given }) as never;
const observed = { group: "g", owners: [here], ownership: "ours", state: "ready" } as const;
const ofLeft = { ...observed, owners: [left] };
const group = (given: Partial<GroupMembers>): GroupMembers => ({
  all: [member()],
  observed,
  pendingReleases: [],
  isOnHold: () => false,
  isUndecided: () => false,
  isStillUsed: () => false,
  ...given,
});

test.each([
  ["a valid member", {}, "plan"],
  ["an invalid member of an existing load balancer", { all: [member({ problems: [wrong] })] }, "plan"],
  [
    "an invalid member without load balancer",
    { all: [member({ problems: [wrong] })], observed: undefined },
    "nothing",
  ],
  ["a deletion on hold", { all: [member({ isOnHold: true })] }, "nothing"],
  [
    "a deletion on hold and a former member",
    { all: [member({ isOnHold: true })], pendingReleases: [left] },
    "plan",
  ],
  [
    "a former member that vanished and may come back",
    { all: [], pendingReleases: [left], isUndecided: () => true },
    "undecided",
  ],
  [
    "a member that stays, and a former one that vanished and may come back",
    { pendingReleases: [left], isUndecided: () => true },
    "plan",
  ],
  [
    "a former member that another group still uses",
    { all: [], pendingReleases: [left], isStillUsed: () => true },
    "nothing",
  ],
  [
    "a former member with unknown on-delete",
    { all: [], pendingReleases: [left], isOnHold: () => true },
    "orphan",
  ],
  ["a former member", { all: [], observed: ofLeft, pendingReleases: [left] }, "plan"],
  ["a former member, and an owner that was never seen", { all: [], pendingReleases: [left] }, "orphan"],
  ["a member that is blocked", { all: [member(), member({ isBlocked: true })] }, "status only"],
] as const satisfies readonly (readonly [string, Partial<GroupMembers>, string])[])(
  "selectMembers decides for a group with %s",
  (_, given, kind) => expect(selectMembers(group(given)).kind).toBe(kind),
);

test("selectMembers leaves out held and refused members, and former members whose on-delete is unknown", () => {
  const [right, held] = [member(), member({ isOnHold: true })];
  const refused = member({ desired: { owner: { uid: left } } as never, problems: [wrong] });
  const taking = selectMembers(
    group({ all: [right, held, refused], pendingReleases: [here, left], isOnHold: (uid) => uid === left }),
  );
  expect(taking).toEqual({ kind: "plan", members: [right], gone: [here] });
});

test("selectMembers does not show an ending member while another one is blocked", () => {
  const ending = member({ desired: { owner: { uid: here }, ending: "delete" } as never });
  const blocked = member({ isBlocked: true });
  expect(selectMembers(group({ all: [ending, blocked] }))).toEqual({
    kind: "status only",
    members: [blocked],
  });
});
