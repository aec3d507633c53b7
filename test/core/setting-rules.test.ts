// What a settings table declares beyond single values: files, exclusive settings, settings without effect, URLs, and the
// operator's defaults of annotations.

import { expect, test } from "bun:test";
import { duration, flag, oneOf, secret, text, url } from "../../src/core/fields.ts";
import { readSettings } from "../../src/core/read-settings.ts";
import { Secret } from "../../src/core/secret.ts";
import {
  currentValue,
  isSet,
  operatorDefaults,
  ruleProblems,
  valueFiles,
  withFiles,
  withOperatorDefaults,
  withVariables,
} from "../../src/core/setting-rules.ts";

const table = withFiles({
  endpoint: url("URL of the API.", { example: "https://api.example", env: "ACME_ENDPOINT" }),
  token: secret("The token.", {
    env: "ACME_TOKEN",
    file: { env: "ACME_TOKEN_FILE", required: "the token of the project" },
  }),
  user: text("The user.", { file: {} }),
  zone: text("The zone.", { env: "ACME_ZONE", exclusiveWith: "location" }),
  location: text("The location."),
  debug: flag("Use -v.", { env: "ACME_DEBUG", ineffective: true }),
});

const valuesOf = (raw: Readonly<Record<string, string>>) =>
  readSettings(table, raw, { what: "setting" }).values;
const problemsOf = (raw: Readonly<Record<string, string>>) =>
  ruleProblems(table, valuesOf(raw)).map(({ severity, key, text }) => `${severity} ${key}: ${text}`);

test("adds a setting for a file after each secret, with the Go manager's variable if it has one", () => {
  const names = ["endpoint", "token", "token-file", "user", "user-file", "zone", "location", "debug"];
  expect(Object.keys(table)).toEqual(names);
  expect([table["token-file"].env, table["user-file"].env]).toEqual(["ACME_TOKEN_FILE", undefined]);
});

test("requires a secret as a value or as a file", () => {
  expect(problemsOf({})).toEqual([
    "error token: ACME_TOKEN or ACME_TOKEN_FILE is required: the token of the project",
  ]);
  expect(problemsOf({ token: "t" })).toEqual([]);
  expect(problemsOf({ "token-file": "/token" })).toEqual([]);
});

test("reports a value that is set together with its file, and settings that exclude each other", () => {
  expect(problemsOf({ token: "t", "token-file": "/t", user: "me", "user-file": "/u" })).toEqual([
    "warning token-file: ACME_TOKEN and ACME_TOKEN_FILE are both set. The file is not read. Remove one of them",
    "warning user-file: user and user-file are both set. The file is not read. Remove one of them",
  ]);
  expect(valueFiles(table, valuesOf({ token: "t", "token-file": "/t" }))).toEqual([]);
  expect(problemsOf({ token: "t", zone: "a", location: "b" })).toEqual([
    "error zone: ACME_ZONE and location are both set. Remove one of them",
  ]);
});

test("warns about a setting without effect", () => {
  expect(problemsOf({ token: "t", debug: "true" })).toEqual([
    "warning debug: ACME_DEBUG is ignored. Use -v.",
  ]);
});

test("reports a value that is not an HTTP URL, without its password", () => {
  const message = (shown: string) =>
    `error endpoint: ACME_ENDPOINT must be a URL such as https://api.example, got ${shown}`;
  expect(problemsOf({ token: "t", endpoint: "here" })).toEqual([message('"here"')]);
  expect(problemsOf({ token: "t", endpoint: "ftp://me:secret@host" })).toEqual([message('"***@host"')]);
  expect(problemsOf({ token: "t", endpoint: "http://me:secret@host" })).toEqual([]);
});

test("reads the current content of a file on each call", () => {
  let content = "first\n";
  const files = { file: (path: string) => (path === "/token" ? new Secret(content) : undefined) };
  const values = valuesOf({ "token-file": "/token", user: "me" });
  expect(valueFiles(table, values)).toEqual(["/token"]);
  expect([isSet(values, "token"), isSet(values, "user"), isSet(values, "zone")]).toEqual([true, true, false]);
  expect(currentValue(values, "token", files).reveal()).toBe("first");
  content = "second\n";
  expect(currentValue(values, "token", files).reveal()).toBe("second");
  expect(currentValue(values, "user", files).reveal()).toBe("me");
  expect(currentValue(valuesOf({}), "token", files).reveal()).toBe("");
});

const annotations = {
  algorithm: oneOf("The algorithm.", ["round-robin", "least"], {
    anyCase: true,
    defaultFrom: "load-balancers-algorithm",
  }),
  timeout: duration("The timeout.", {}, { orSeconds: true, defaultFrom: "load-balancers-timeout" }),
  "use-ipv6": flag("Use IPv6.", { defaultFrom: "load-balancers-use-ipv6" }),
  name: text("The name."),
};
const defaults = operatorDefaults(annotations, "ACME_");
const defaultsOf = (raw: Readonly<Record<string, string>>) =>
  readSettings(defaults, raw, { what: "setting" }).values;
const ownOf = (raw: Readonly<Record<string, string>>) =>
  readSettings(annotations, raw, { what: "annotation" }).values;

test("derives the variable of each setting from its name, except for settings with an explicit variable", () => {
  const named = withVariables("ACME_", {
    "node-pool": text("The pool."),
    zone: text("The zone.", { env: "ZONE" }),
  });
  expect(Object.entries(named).map(([name, field]) => [name, field.text, field.env])).toEqual([
    ["node-pool", "The pool.", "ACME_NODE_POOL"],
    ["zone", "The zone.", "ZONE"],
  ]);
});

test("creates a live setting with a variable for each annotation with an operator default", () => {
  expect(Object.entries(defaults).map(([name, { env, reload }]) => [name, env, reload])).toEqual([
    ["load-balancers-algorithm", "ACME_LOAD_BALANCERS_ALGORITHM", "live"],
    ["load-balancers-timeout", "ACME_LOAD_BALANCERS_TIMEOUT", "live"],
    ["load-balancers-use-ipv6", "ACME_LOAD_BALANCERS_USE_IPV6", "live"],
  ]);
});

test("uses the operator's default only for Services without the annotation", () => {
  const operator = defaultsOf({
    "load-balancers-algorithm": "LEAST",
    "load-balancers-timeout": "15",
    "load-balancers-use-ipv6": "true",
  });
  const settings = withOperatorDefaults(annotations, ownOf({ "use-ipv6": "false", name: "a" }), operator);
  expect(settings).toEqual({ algorithm: "least", timeout: 15_000, "use-ipv6": false, name: "a" } as never);
  expect(withOperatorDefaults(annotations, ownOf({}), defaultsOf({}))).toEqual({} as never);
});
