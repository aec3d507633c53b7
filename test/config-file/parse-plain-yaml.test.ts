import { expect, test } from "bun:test";
import fc from "fast-check";
import { parsePlainYaml } from "../../src/config-file/parse-plain-yaml.ts";
import { parseYaml } from "../../src/config-file/parse-yaml.ts";

// Plain YAML is read without the `yaml` package, exactly as that package reads it.

test("reads configuration files as Helm, kustomize and people write them", () => {
  const text = `# A comment: with a colon
apiVersion: fairlead.dev/v1alpha1
kind: FairleadConfiguration
flags:
  cluster-name: "my cluster" # its name
  controllers: ["*", -service]
  concurrent-node-syncs: 8
  leader-elect: false
  node-monitor-period: 1m30s
cloud:
  endpoint: 'https://127.0.0.1:8620/v1'
  tags: {}
  regions:
  - name: eu-1
    ranges:
      - 10.0.0.0/8
      - fd00::/8
`;
  const parsed = parsePlainYaml(text);
  expect(parsed?.problems).toEqual([]);
  expect(parsed).toEqual(parseYaml(text));
});

test.each([
  ["a duplicate key", "a: 1\na: 2\n"],
  ["the same key and value twice", "a: 1\na: 1\n"],
  ["an anchor and an alias", "a: &x 1\nb: *x\n"],
  ["a tag", "a: !secret x\n"],
  ["a merge key", "<<: {}\n"],
  ["an escape", 'a: "\\x41"\n'],
  ["a block of text", "a: |\n  b\n"],
  ["a value on two lines", "a: b\n  c\n"],
  ["a number that is written in a different form", "a: 0123\n"],
  ["a switch that is written in a different form", "a: True\n"],
  ["a key without a value", "a:\n"],
  ["a key that is null", "null: 1\n"],
  ["two documents", "a: 1\n---\nb: 2\n"],
  ["a tab", "a:\n\tb: 1\n"],
  ["a list on two lines", "a: [\n]\n"],
  ["too many levels", `${"- ".repeat(18)}a\n`],
  ["an empty file", ""],
])("leaves %s to the yaml package", (_, text) => {
  expect(parsePlainYaml(text)).toBeUndefined();
});

const parts = [
  ..."\n|\n  |\n    |\n- |\n  - | |- |a: |b: |a:|'c': |\"d\": |true: |null: |1: |__proto__: ".split("|"),
  ..."1|-1|0123|0o14|1e3|.5|x|-x|true|True|~|null|15s|10.0.0.0/8|a:b|::1|x y|---|'x: y'|\"# x\"|''".split(
    "|",
  ),
  ..."[|]|, |[]|{}|[a, 'b']|{a: 1}|# c: d| # c|#|&a |*a|!t |>|?|%|\t|\r\n|é|\"é\"".split("|"),
];
const line = fc
  .tuple(
    fc.nat({ max: 3 }),
    fc.constantFrom("", "- "),
    fc.constantFrom("a: ", "b:", "c: ", ""),
    fc.constantFrom(...parts),
  )
  .map(([depth, dash, key, value]) => `${"  ".repeat(depth)}${dash}${key}${value}\n`);

test.each([
  ["parts", fc.array(fc.constantFrom(...parts), { maxLength: 12 })],
  ["lines", fc.array(line, { maxLength: 6 })],
])(
  "reads any text of random %s exactly as the yaml package does, or leaves it to that package",
  (_, texts) => {
    let plain = 0;
    fc.assert(
      fc.property(texts, (some) => {
        const text = some.join("");
        const parsed = parsePlainYaml(text);
        if (parsed === undefined) return;
        plain += 1;
        expect(parsed).toEqual(parseYaml(text));
      }),
      { numRuns: 2000 },
    );
    expect(plain).toBeGreaterThan(20);
  },
);
