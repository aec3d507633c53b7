import { expect, test } from "bun:test";
import { isRejected, type Member } from "../../../../src/controllers/service/desired/member.ts";
import { serviceUID } from "../../../../src/core/brand.ts";
import type { ObservedLoadBalancer } from "../../../../src/provider/load-balancers.ts";

// Which Services with errors are planned, as a table.

const [uid, other] = [serviceUID("web"), serviceUID("other")];
const wrong = { severity: "error", reason: "Wrong", text: "it is wrong" } as const;
const unwise = { severity: "warning", reason: "Unwise", text: "it is unwise" } as const;
const own: ObservedLoadBalancer = { name: "b1", owners: [uid], ownership: "ours", state: "ready" };
const memberOf = (problems: Member["problems"], ending?: "delete") => ({
  desired: { owner: { uid }, ...(ending !== undefined && { ending }) } as Member["desired"],
  problems,
});

test.each([
  ["a valid Service without a load balancer", memberOf([]), undefined, false],
  ["a Service with a warning and without a load balancer", memberOf([unwise]), undefined, false],
  ["a Service with an error and without a load balancer", memberOf([wrong]), undefined, true],
  ["a Service with an error that has its load balancer", memberOf([wrong]), own, false],
  [
    "a Service with an error that would adopt a load balancer",
    memberOf([wrong]),
    { ...own, owners: [other] },
    true,
  ],
  [
    "a Service with an error that no longer needs its load balancer",
    memberOf([wrong], "delete"),
    undefined,
    false,
  ],
] as const)("decides whether %s is rejected", (_, member, observed, expected) => {
  expect(isRejected(member, observed)).toBe(expected);
});
