import { expect, test } from "bun:test";
import { inEach, possibleValues, settingsMeant } from "../../src/core/certain-checks.ts";
import { flag, oneOf, secret, text, url } from "../../src/core/fields.ts";

// Checks of several settings while some of them cannot be read.

const fields = {
  endpoint: url("URL.", { required: true, example: "https://x.example" }),
  token: secret("Token.", { env: "ACME_TOKEN" }),
  mode: oneOf("Mode.", ["fast", "safe"], { fallback: "fast" }),
  "is-on": flag("On.", { fallback: false }),
  odd: { ...text("Odd."), parse: () => ({ wrong: "never valid" }) },
};

type Found = readonly string[];
const find = (values: Readonly<Record<string, unknown>>): Found => [
  ...(values["token"] === undefined ? ["no token"] : []),
  ...(values["is-on"] === true ? [] : ["it is off"]),
  `endpoint ${String(values["endpoint"])}`,
];
const foundWith = (uncertain: { absent?: Found; unread?: Found }) =>
  inEach(
    possibleValues(fields, {
      values: { mode: "fast", "is-on": false },
      absent: [],
      unread: [],
      ...uncertain,
    }),
    find,
    (found) => found,
  );

test("a check reports only problems that exist for every possible value of an unreadable setting", () => {
  expect(foundWith({})).toEqual(["no token", "it is off", "endpoint undefined"]);
  expect(foundWith({ unread: ["token"] })).toEqual(["it is off", "endpoint undefined"]);
  expect(foundWith({ unread: ["is-on"] })).toEqual(["no token", "endpoint undefined"]);
});

test("a missing required setting gets a possible value; without a known value, nothing is checked", () => {
  expect(foundWith({ absent: ["endpoint"] })).toEqual([
    "no token",
    "it is off",
    "endpoint https://stand-in.example",
  ]);
  expect(foundWith({ absent: ["odd"] })).toEqual([]);
});

test("a check that throws for a possible value reports nothing, and a check that throws for the real values fails", () => {
  const parse = ({ mode }: Readonly<Record<string, unknown>>): Found => [
    String(mode).toUpperCase(),
    (mode as string).at(9) as string,
  ];
  const failing = (): Found => {
    throw new Error("broken");
  };
  const two = possibleValues(fields, { values: {}, absent: [], unread: ["mode"] });
  expect(inEach(two, parse, String)).toEqual([]);
  expect(() => inEach([{}], failing, String)).toThrow("broken");
});

test("matches words to settings in the spelling of files and variables, including typos", () => {
  const meant = (...words: string[]) => [...settingsMeant(words, fields)];
  expect(meant("IsOn", "acme-tokn", "endpiont")).toEqual(["is-on", "token", "endpoint"]);
  expect([meant(), meant("unrelated-word")]).toEqual([[], []]);
});
