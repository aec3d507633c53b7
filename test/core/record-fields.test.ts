// A setting that is a list of records, read from text: exact types, every problem with its path, and no secret in a message.

import { expect, test } from "bun:test";
import { duration, flag, integer, secret, text } from "../../src/core/fields.ts";
import { list, pairs } from "../../src/core/list-fields.ts";
import { readSettings } from "../../src/core/read-settings.ts";
import { records } from "../../src/core/record-fields.ts";
import type { Values } from "../../src/core/settings.ts";
import { settingsReference } from "../../src/core/settings-reference.ts";

const fields = {
  regions: records(
    "The regions.",
    {
      name: text("Its name.", { required: true }),
      endpoint: text("URL of its API.", { required: true, renamedFrom: ["url"] }),
      size: integer("Entries per page.", { min: 1 }, { fallback: 50 }),
      zones: list("Its zones."),
      tags: pairs("Its tags."),
      token: secret("Its token."),
      pools: records("Its pools.", { name: text("Name of the pool.", { required: true }) }, { fallback: [] }),
    },
    { required: true, unique: "name", env: "ACME_REGIONS" },
  ),
};

type Exact<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(value: T): T => value;
type Region = Values<typeof fields>["regions"][number];

const read = (value: unknown) =>
  readSettings(
    fields,
    { regions: typeof value === "string" ? value : JSON.stringify(value) },
    { what: "setting" },
  );
const reported = (value: unknown) => read(value).problems.map(({ text: says }) => says);

test("records infers the exact type of an entry's values", () => {
  expect(holds<Exact<Region["name"], string>>(true)).toBe(true);
  expect(holds<Exact<Region["size"], number>>(true)).toBe(true);
  expect(holds<Exact<Region["zones"], readonly string[] | undefined>>(true)).toBe(true);
  expect(holds<Exact<Region["pools"][number]["name"], string>>(true)).toBe(true);
});

test("records parses JSON values of every kind by the fields of the entry", () => {
  const { values, problems } = read([
    { name: "north", endpoint: "http://n", size: 7, zones: ["a", "b"], tags: { team: "web", tier: 1 } },
    { name: "south", endpoint: "http://s", size: "8", zones: "c,d", pools: [{ name: "p" }] },
  ]);
  expect(problems).toEqual([]);
  expect(values.regions).toMatchObject([
    { name: "north", size: 7, zones: ["a", "b"], tags: new Map(Object.entries({ team: "web", tier: "1" })) },
    { name: "south", size: 8, zones: ["c", "d"], pools: [{ name: "p" }] },
  ]);
});

test("records reports all problems of all entries together, each with its path", () => {
  const entries = [
    { name: "north", endpiont: "http://n", url: "http://n" },
    { name: "north", endpoint: ["http://s"], size: 0, zones: ["a,b"] },
    { endpoint: "http://w", pools: [{ nam: "p" }] },
  ];
  expect(reported(entries)).toEqual([
    "regions[0].url was renamed to regions[0].endpoint; use the new name",
    'regions[0].endpiont is not a known setting; did you mean "regions[0].endpoint"?',
    "regions[1].endpoint must be a non-empty string, got a list",
    "regions[1].zones must be a comma-separated list, got a list",
    'regions[1].size must be a whole number of at least 1, got "0"',
    "regions[2].name is required but not set; it must be a non-empty string",
    "regions[2].pools[0].name is required but not set; it must be a non-empty string",
    'regions[2].pools[0].nam is not a known setting; did you mean "regions[2].pools[0].name"?',
    'regions[1].name must differ from regions[0].name, got "north" twice',
  ]);
  expect([...read(entries).frozen]).toEqual(["regions"]);
});

test.each(["", "[", "{}", '"a"', "[1]", "[[]]", "null"])("records rejects the text %p", (raw) => {
  const [message = ""] = reported(raw);
  expect(message).toEndWith("got text that is not a JSON array of objects");
});

test("records never shows a secret of an entry, not even if the text is not JSON", () => {
  const all = [...reported('[{"token": "hunter2"'), ...reported([{ name: "a", token: ["hunter2"] }])];
  expect(all).not.toEqual([]);
  expect(all.join()).not.toContain("hunter2");
});

test("records rejects an empty list if the setting is required", () => {
  expect(reported([])).toEqual([
    "regions must be a list of entries with name, endpoint, size, zones, tags, token, pools (in the variable: a JSON array of objects), got an empty list",
  ]);
});

test("records rejects a variable or a flag for a value of an entry when the table is created", () => {
  expect(() => records("Regions.", { name: text("Name.", { env: "NAME" }) })).toThrow("name is a value");
  expect(() => records("Regions.", { on: flag("On.", { flag: "on" }) })).toThrow("on is a value");
});

test("the reference table has a row for each value of a record", () => {
  const page = settingsReference({
    nets: records("Networks.", { mtu: integer("MTU."), every: duration("Interval.") }),
  });
  expect(page.match(/^\| `[^`]+`/gm)).toEqual(["| `nets`", "| `nets[].mtu`", "| `nets[].every`"]);
});
