import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { eventsPage } from "../../scripts/docs/events-page.ts";
import { allReasons } from "../../scripts/docs/reasons/all.ts";

// Users match on the reasons of events and conditions. This compares the list behind docs/events.md with the code.

const root = new URL("../../", import.meta.url).pathname;
const filesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(`${root}${folder}/${name}`, "utf8"));

const sources = [
  "src/controllers",
  "src/volumes",
  "src/cloud",
  "src/app/leadership",
  "src/app/report",
].flatMap(filesIn);
const found = (pattern: RegExp): readonly string[] =>
  sources.flatMap((text) => [...text.matchAll(pattern)].flatMap(([, ...groups]) => groups.join(" ")));

/**
 * Literals in an object, or the first argument of a function that creates one. Findings that only `explain` and
 * /status show are neither events nor conditions.
 */
const literalReasons = found(
  /(?:(?<!severity: "wait", )reason: |\b(?:notice|warning|failure|failed)\(\s*)"([A-Z][A-Za-z]+)"/g,
);
/** Composed of a verb and the subject of a settings table: `Invalid${noun}`. */
const composedReasons = filesIn("src/core").flatMap((text) =>
  [...text.matchAll(/reason: `([A-Z][a-z]+)\$\{noun\}`/g)].map(([, verb]) => `${verb}Annotation`),
);
/** Reasons about flags and files at startup, not about an object. */
const startupReasons = ["InvalidLeaderMigration"];

test("the list of reasons contains exactly the reasons of events and conditions in the code [N8]", () => {
  expect(literalReasons.length).toBeGreaterThan(40);
  expect(composedReasons.length).toBe(4);
  const listed = new Set(Object.keys(allReasons));
  const inCode = new Set(
    [...literalReasons, ...composedReasons].filter((reason) => !startupReasons.includes(reason)),
  );
  expect([...inCode].filter((reason) => !listed.has(reason)).toSorted()).toEqual([]);
  const anywhere = (reason: string): boolean => sources.some((text) => text.includes(`"${reason}"`));
  expect([...listed].filter((reason) => !inCode.has(reason) && !anywhere(reason)).toSorted()).toEqual([]);
});

test("each event has the type that the list of reasons states", () => {
  const pairs = [
    ...found(/severity: "([a-z]+)",\s+reason: "([A-Z][A-Za-z]+)"/g),
    ...found(/\b(notice|warning|failure|failed)\(\s*"([A-Z][A-Za-z]+)"/g),
  ];
  expect(pairs.length).toBeGreaterThan(20);
  for (const pair of pairs) {
    const [severity, reason = ""] = pair.split(" ");
    const type = severity === "notice" || severity === "wait" ? "Normal" : "Warning";
    expect([reason, allReasons[reason]?.type ?? type]).toEqual([reason, type]);
  }
});

/** The reason that a function in the sources reports. */
function reasonOf(name: string): string {
  const body = sources
    .flatMap((text) => text.split(/^(?=export |function |const )/m))
    .find((part) => new RegExp(`^(?:export )?function ${name}\\b`).test(part));
  return /(?:reason: |\b(?:notice|warning|failure|failed)\(\s*)"([A-Z]\w+)"/.exec(body ?? "")?.[1] ?? "";
}

test("the list names the warnings that fairlead_problems does not count: events that happen once, holds, and notes", () => {
  const uncounted = (names: readonly string[], why: string) =>
    names
      .map(reasonOf)
      .filter((reason) => allReasons[reason]?.type !== "Normal" && allReasons[reason]?.uncounted !== why);
  const once = found(/\b(?:report|reporter\.publish)\(\w+, (\w+)\(/g);
  const held = found(/kind: "hold", problem: (\w+)\(/g);
  expect(Math.min(once.length, held.length)).toBeGreaterThan(2);
  expect([uncounted(once, "once"), uncounted(held, "hold")]).toEqual([[], []]);
});

test("every warning in the list of reasons has a remedy", () => {
  const withoutAdvice = Object.entries(allReasons).filter(
    ([, { type, whatToDo }]) => type === "Warning" && whatToDo === undefined,
  );
  expect(withoutAdvice.map(([reason]) => reason)).toEqual([]);
});

test("docs/events.md is up to date; npm run docs generates it", () => {
  expect(readFileSync(`${root}docs/events.md`, "utf8")).toBe(eventsPage());
});
