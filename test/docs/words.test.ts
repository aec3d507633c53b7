import { describe, expect, test } from "bun:test";
import { proseOf } from "../../scripts/check/prose.ts";
import { isExempt, ruledOutIn, ruledOutWords } from "../../scripts/check/words.ts";

describe.each(ruledOutWords.map(({ example, instead }) => [example, instead] as const))(
  "%s",
  (word, instead) => {
    test("the word check finds a phrase in a document, with its line and a replacement", () => {
      expect(ruledOutIn("docs/x.md", `# Title\n\nIt ${word} x.\n`)).toEqual([
        `docs/x.md:3: "${word}"; write ${instead}`,
      ]);
    });
    test.each([
      ["a comment", `// It ${word} x.\n`],
      ["a block comment", `/** It ${word} x. */\n`],
      ["a string", `log("It ${word} x");\n`],
      ["a test title", `test('it ${word} x', () => {});\n`],
      ["a template", `log(\`\${a} it ${word} \${b}\`);\n`],
    ])("is found in %s", (_, text) => {
      expect(ruledOutIn("src/x.ts", text)).toHaveLength(1);
    });
  },
);

test("the word check finds a phrase across a line break, at the line where it begins", () => {
  expect(ruledOutIn("src/x.ts", "// What becomes\n// of it\n")[0]).toStartWith('src/x.ts:1: "becomes of"');
});

test.each([
  ["an identifier", "const told = debts.find((wish) => wish.ours);\n"],
  ["a key or a path", 'import { a } from "./ours.ts"; a("nobody");\n'],
  ["a regular expression", "const a = text.match(/told [nobody]/g);\n"],
  ["code inside a template", "const a = `$" + "{ours.map(({ told }) => told)} is fine`;\n"],
  ["a longer word", "// Recommended: recommend, amend, retold.\n"],
  ["a marked line", "// words-ok: upstream text\nlog('you are told so');\n"],
])("%s is not prose", (_, text) => {
  expect(ruledOutIn("src/x.ts", text)).toEqual([]);
});

test("the word check ignores code in documents and comments", () => {
  expect(ruledOutIn("docs/x.md", "Run `nobody tells`.\n")).toEqual([]);
  expect(ruledOutIn("docs/x.md", '```ts\nconst wish = "ours"; // Told.\n```\n')).toHaveLength(1);
  expect(ruledOutIn("src/x.ts", "// `ours` has the mark of the cluster.\n")).toEqual([]);
});

test("the word check keeps positions after strings, comments, templates and regular expressions", () => {
  const program = 'const a = /"/.test("b c") ? `d {} h` : 1 / 2; // i\n/* j\n * k */ l("m n");\n'.replace(
    "{}",
    "$" + '{e("f g")}',
  );
  const prose = proseOf("x.ts", program);
  expect(prose).toHaveLength(program.length);
  expect(prose.split(/\s+/).join(" ").trim()).toBe('"b c" d "f g" h i j k "m n"');
});

test("the word check exempts generated pages, because their sources are checked", () => {
  expect(isExempt("docs/events.md")).toBe(true);
  expect(isExempt("docs/operations.md")).toBe(false);
});
