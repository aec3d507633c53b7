import { describe, expect, test } from "bun:test";
import { maxDocumentLength } from "../../src/config-file/located.ts";
import { parseConfiguration } from "../../src/config-file/parse-configuration.ts";
import { parseYaml } from "../../src/config-file/parse-yaml.ts";
import { duration, flag, integer, secret, text } from "../../src/core/fields.ts";
import { list, pairs } from "../../src/core/list-fields.ts";

// Reading one configuration file: values become text by name, and all errors are reported together.

const tables = {
  flags: {
    "cluster-name": text("."),
    "leader-elect": flag("."),
    "concurrent-node-syncs": integer("."),
    "retry-period": duration("."),
    controllers: list("."),
    "node-selector": pairs("."),
  },
  cloud: { endpoint: text("."), token: secret(".") },
  notInFile: { help: "can only be given on the command line" },
};
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n";
const read = (body: string) => parseConfiguration(parseYaml(`${head}${body}`), tables);
const reported = (body: string) =>
  read(body).problems.map(({ place, text: says }) => `${place.line}:${place.column} ${says}`);

test("parseConfiguration reads flags and cloud settings from one file, each value as its type [F77]", () => {
  const { flags, cloud, problems } = read(`
flags:
  cluster-name: prod        # a comment
  leader-elect: false
  concurrent-node-syncs: 8
  retry-period: 2s
  controllers: ["*", -service]
  node-selector: { pool: web, tier: "1" }
cloud:
  token: abc
`);
  expect(problems).toEqual([]);
  expect(flags.raw).toEqual({
    "cluster-name": "prod",
    "leader-elect": "false",
    "concurrent-node-syncs": "8",
    "retry-period": "2s",
    controllers: "*,-service",
    "node-selector": "pool=web,tier=1",
  });
  expect(cloud.raw).toEqual({ token: "abc" });
  expect(flags.places.get("leader-elect")).toEqual({ line: 6, column: 17 });
});

test("parseConfiguration reports every error with its line, its column and the nearest name [F78]", () => {
  const body = `flags:
  cluster-nam: prod
  leader-elect: "yes"
  concurrent-node-syncs: many
  controllers: service
  help: true
  retry-period: [1, 2]
  cluster-name: 0123
cloud:
  tokn: abc
  endpoint: a
  endpoint: b
clouds: {}
`;
  expect(reported(body)).toEqual([
    "4:3 unknown flag cluster-nam; did you mean cluster-name?",
    "5:17 leader-elect must be true or false, got a string",
    "6:26 concurrent-node-syncs must be a number, got a string",
    "7:16 controllers must be a list, got a string",
    "8:3 help can only be given on the command line",
    "9:17 retry-period must be a duration such as 15s or 1h30m, got a list",
    "10:17 cluster-name must be a string, got a number; put it in quotes",
    "12:3 unknown setting of the cloud tokn; did you mean token?",
    "14:3 endpoint is set more than once; keep one",
    "15:1 unknown key clouds; did you mean cloud?",
  ]);
});

test("parseConfiguration never shows the value of a secret that is malformed [F78]", () => {
  const all = [...reported("cloud:\n  token: [hunter2]\n"), ...reported("cloud:\n  token: 'hunter2\n")].join(
    "\n",
  );
  expect(all).not.toBe("");
  expect(all).not.toContain("hunter2");
});

test.each([
  [
    "a: b: c\nflags:\n  x: [1\n",
    "1:4 invalid YAML: Nested mappings are not allowed in compact mappings. Put a value that contains a colon in quotes.",
  ],
  [
    "apiVersion: x\n\tkind: y\n",
    "2:1 invalid YAML: Tabs are not allowed as indentation. Indent with spaces.",
  ],
  [
    "flags:\n  v: 1\n kind: x\n",
    "3:1 invalid YAML: All mapping items must start at the same column. Indent all keys of a mapping equally.",
  ],
  ['a: "x\nb: 1\n', '3:1 invalid YAML: Missing closing "quote. Close the quote or bracket.'],
  ["a: 1\n---\nb: 2\n", "2:1 invalid YAML: Source contains multiple documents. Keep one document."],
])(
  "parseConfiguration reports a syntax error once, with its position and the remedy: %j",
  (document, expected) => {
    const { problems } = parseConfiguration(parseYaml(document), tables);
    expect(problems.map(({ place, text: says }) => `${place.line}:${place.column} ${says}`)).toEqual([
      expected,
    ]);
  },
);

test("parseConfiguration rejects a file of another kind or API version", () => {
  const { problems } = parseConfiguration(parseYaml("apiVersion: v1\nflags: {}\n"), tables);
  expect(problems.map(({ text: says }) => says)).toEqual([
    "kind must be FairleadConfiguration; it is missing",
    "apiVersion must be fairlead.dev/v1alpha1, got a different value",
  ]);
});

describe.each([
  ["an empty file", "", "a mapping with apiversion"],
  ["a document that is not a mapping", "- a\n- b\n", "a mapping with apiversion"],
  ["a file with two documents", "a: 1\n---\nb: 2\n", "multiple documents"],
  ["a document with aliases", "a: &x [1]\nb: *x\n", "aliases"],
  ["a document with custom tags", "a: !thing 1\n", "tag"],
  ["a mapping with a list as key", "? [a]\n: b\n", "keys must be strings"],
  ["a file that is too long", "a: ".padEnd(maxDocumentLength + 1, "x"), "the limit is"],
  ["a file with 100,000 nested lists", "[".repeat(100_000), "nested"],
  ["a file with 40 nested lists", `${"[".repeat(40)}${"]".repeat(40)}`, "nested"],
])("%s", (_, document, expected) => {
  test("rejects the file with a readable message, and uses none of its values", () => {
    const { flags, cloud, problems } = parseConfiguration(parseYaml(document), tables);
    expect({ ...flags.raw, ...cloud.raw }).toEqual({});
    expect(problems.map(({ text: says }) => says.toLowerCase()).join("\n")).toContain(expected);
  });
});
