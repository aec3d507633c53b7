import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { eventsPage } from "../../scripts/docs/events-page.ts";
import { allReasons } from "../../scripts/docs/reasons/all.ts";

// Reasons on events and conditions are one list, which people match on: whatever the code says is written down there, with
// its type, and whatever is written there is said by the code.

const root = new URL("../../", import.meta.url).pathname;
const filesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(`${root}${folder}/${name}`, "utf8"));

const sources = ["src/controllers", "src/cloud", "src/app/leadership"].flatMap(filesIn);
const found = (pattern: RegExp): readonly string[] =>
  sources.flatMap((text) => [...text.matchAll(pattern)].flatMap(([, ...groups]) => groups.join(" ")));

/** As literals of an object, or first in a call of a function that makes one. */
const said = found(/(?:reason: |\b(?:warning|hold)\(\s*)"([A-Z][A-Za-z]+)"/g);
/** Made of a verb and what the table of settings is about: `Invalid${noun}`. */
const madeOf = filesIn("src/core").flatMap((text) =>
  [...text.matchAll(/reason: `([A-Z][a-z]+)\$\{noun\}`/g)].map(([, verb]) => `${verb}Annotation`),
);
/** Of what ends or warns at the start: about flags and files, on no object. */
const ofTheStart = ["InvalidLeaderMigration"];

test("every reason on events and conditions is in the one list, and every one of the list is said [N8]", () => {
  expect(said.length).toBeGreaterThan(40);
  expect(madeOf.length).toBe(4);
  const listed = new Set(Object.keys(allReasons));
  const inCode = new Set([...said, ...madeOf].filter((reason) => !ofTheStart.includes(reason)));
  expect([...inCode].filter((reason) => !listed.has(reason)).toSorted()).toEqual([]);
  const anywhere = (reason: string): boolean => sources.some((text) => text.includes(`"${reason}"`));
  expect([...listed].filter((reason) => !inCode.has(reason) && !anywhere(reason)).toSorted()).toEqual([]);
});

test("events have the type that the list says", () => {
  const pairs = found(/type: "(Normal|Warning)",\s+reason: "([A-Z][A-Za-z]+)"/g);
  expect(pairs.length).toBeGreaterThan(10);
  for (const pair of pairs) {
    const [type, reason = ""] = pair.split(" ");
    expect([reason, allReasons[reason]?.type as string]).toEqual([reason, type ?? ""]);
  }
});

test("a warning of ours says what to do", () => {
  const silent = Object.entries(allReasons).filter(
    ([, { type, whatToDo }]) => type === "Warning" && whatToDo === undefined,
  );
  expect(silent.map(([reason]) => reason)).toEqual([]);
});

test("docs/events.md is what the list says now; npm run docs makes it", () => {
  expect(readFileSync(`${root}docs/events.md`, "utf8")).toBe(eventsPage());
});
