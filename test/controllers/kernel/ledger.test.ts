import { expect, test } from "bun:test";
import { Ledger, Ledgers } from "../../../src/controllers/kernel/ledger.ts";
import { awaited, judge as judgeBy } from "../../../src/controllers/kernel/proof.ts";
import { milliseconds, minutes, seconds } from "../../../src/core/brand.ts";

// What a ledger remembers about a load balancer or a route, and the consequences; times in seconds.

const at = (time: number) => time * 1000;
const lookup = (began: number) => ({ beganAt: at(began), knownAt: at(began) });
const listing = (began: number, known = began) =>
  ({ kind: "listing", beganAt: at(began), knownAt: at(known) }) as const;
const missing = (first: number, last: number) => ({
  proofs: [...new Set([first, last])].map((time) => listing(time)),
});
const judge = (evidence: Ledger) => judgeBy(evidence, { confirmAfter: seconds(30), kinds: ["listing"] });
/** Whether the object counts as absent. */
const isCertain = (evidence: Ledger) => awaited(judge(evidence)) === undefined;

const list = (evidence: Ledger, time: number, { isShown }: { readonly isShown: boolean }) =>
  isShown ? evidence.noteShown() : evidence.noteLacking(listing(time));
const shown = { isShown: true };
const lacking = { isShown: false };

test("a proof lasts from the result of the first listing to the start of the last listing", () => {
  const evidence = new Ledger();
  evidence.noteShown();
  evidence.noteLacking(listing(5, 20));
  evidence.noteLacking(listing(20, 40));
  expect(judge(evidence)).toEqual({ kind: "unproved", next: { at: at(50) } });
  evidence.noteLacking(listing(50, 51));
  expect(judge(evidence)).toEqual({ kind: "proved" });
});

test("one listing that shows the load balancer discards the proof", () => {
  const evidence = new Ledger();
  evidence.noteShown();
  list(evidence, 0, lacking);
  list(evidence, 20, shown);
  list(evidence, 40, lacking);
  expect(evidence).toMatchObject({ certainty: "exists", ...missing(40, 40) });
});

test("a lookup soon after a change proves nothing", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(10), "exists");
  evidence.noteLookup(lookup(39), seconds(30));
  expect(evidence.notFoundAt).toBeUndefined();
  evidence.noteLookup(lookup(40), seconds(30));
  expect(evidence.notFoundAt).toBe(at(40));
});

test.each(["exists", "possible"] as const)(
  "a lookup soon after the start of a session proves nothing about an object that %s, because the lookup may lag",
  (certainty) => {
    const evidence = new Ledger();
    if (certainty === "exists") evidence.noteShown();
    evidence.expect(certainty, at(10));
    evidence.noteLookup(lookup(39), seconds(30));
    expect(evidence.notFoundAt).toBeUndefined();
    evidence.noteLookup(lookup(40), seconds(30));
    expect(evidence.notFoundAt).toBe(at(40));
  },
);

test("after Fairlead removed an object, one read without it is proof, even if a lagging read still showed it", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(0), "exists");
  evidence.noteRemoved(at(10));
  expect(evidence.certainty).toBeUndefined();
  list(evidence, 11, shown);
  expect(isCertain(evidence)).toBe(false);
  list(evidence, 13, lacking);
  expect(isCertain(evidence)).toBe(true);
});

test.each([
  [
    "listings showed the object for longer than a proof takes",
    (evidence: Ledger) => list(evidence, 39, shown),
  ],
  ["a step has changed the object since", (evidence: Ledger) => evidence.noteChange(at(38), "exists")],
  ["another process may have changed the object since", (evidence: Ledger) => evidence.restart()],
])("after a removal, one read without the object is not enough if %s", (_, happen) => {
  const evidence = new Ledger();
  evidence.noteRemoved(at(10));
  list(evidence, 11, shown);
  happen(evidence);
  list(evidence, 40, lacking);
  expect(isCertain(evidence)).toBe(false);
});

test("an object that may exist counts as existing when its Service has an address from another leader", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(10), "possible");
  evidence.expect(undefined, at(15));
  expect(evidence.certainty).toBe("possible");
  list(evidence, 20, lacking);
  evidence.expect("exists", at(20));
  expect(evidence).toMatchObject({ certainty: "exists", changedAt: at(10), ...missing(20, 20) });
  evidence.expect("possible", at(20));
  expect(evidence.certainty).toBe("exists");
});

test("an object that only a former leader may have created counts as new after ten minutes if listings lack it", () => {
  const evidence = new Ledger();
  evidence.expect("possible", at(10));
  for (const time of [20, 50, 609]) list(evidence, time, lacking);
  expect(judge(evidence)).toEqual({ kind: "uncertain" });
  list(evidence, 610, lacking);
  expect(judge(evidence)).toEqual({ kind: "new" });
  // Fairlead has requested the object since.
  evidence.noteChange(at(611), "possible");
  for (const time of [620, 650 + minutes(10)]) list(evidence, time, lacking);
  expect(judge(evidence)).toEqual({ kind: "uncertain" });
});

test("a busy cloud restarts the proof once, but only for objects from an earlier session", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(0), "exists");
  list(evidence, 10, lacking);
  evidence.noteBusy();
  expect(evidence).toMatchObject(missing(10, 10));
  evidence.restart();
  list(evidence, 20, lacking);
  evidence.noteBusy();
  expect(evidence).toMatchObject({ certainty: "exists", proofs: [] });
  list(evidence, 30, lacking);
  evidence.noteBusy();
  expect(evidence).toMatchObject(missing(30, 30));
});

test("a new session keeps the known objects, but no proof", () => {
  const evidence = new Ledger();
  evidence.noteChange(at(0), "exists");
  evidence.noteRemoval(at(5));
  evidence.noteLookup(lookup(50), seconds(30));
  list(evidence, 60, lacking);
  evidence.restart();
  expect(evidence).toMatchObject({
    certainty: "exists",
    changedAt: at(5),
    removal: "sent",
    notFoundAt: undefined,
    proofs: [],
    isTrace: true,
  });
});

test("a recorded object counts as absent after a second, later answer, which ends its ledger", () => {
  const ledgers = new Ledgers();
  const settings = { confirmAfter: seconds(30) };
  const confirm = (time: number) => ledgers.confirm("a", { clock: { monotonic: () => at(time) }, settings });
  expect([confirm(10), confirm(15), confirm(39)]).toEqual([30, 25, 1].map((time) => seconds(time)));
  expect(confirm(40)).toBe(milliseconds(0));
  expect(ledgers.size).toBe(0);
  confirm(50);
  // A different answer arrived.
  ledgers.delete("a");
  expect(confirm(80)).toBe(seconds(30));
});
