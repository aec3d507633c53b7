// Creates inputs from valid ones: repeats, removes, moves, nests and renames parts, and inserts values that parsers often handle
// incorrectly. The edits are plain values, so that fast-check can reduce a failure to the necessary edits.

import fc from "fast-check";
import type { Form, Tree } from "./tree.ts";

const onTrees = ["remove", "repeat", "nest", "set", "rename", "move", "empty"] as const;
const onText = ["cut", "insert", "again", "flip"] as const;

export interface Edit {
  readonly kind: (typeof onTrees)[number] | (typeof onText)[number];
  /** Numbers that select where and what to edit, modulo what exists. */
  readonly at: number;
  readonly other: number;
  readonly times: number;
}

/** Replacements for values and names. A form prints them unchanged, so that many are invalid. */
const tokens: readonly string[] = [
  ...["", " ", "null", "true", "-1", "0", "1e400", "9007199254740993", "-9223372036854775808", "4294967296"],
  ...[
    '"__proto__"',
    '"constructor"',
    '"toString"',
    "__proto__",
    "constructor",
    "{toString: 1}",
    '{"toString":1}',
    "hasOwnProperty",
  ],
  ...[
    '""',
    '"\\u0000"',
    '"\\ud800"',
    "\u0000",
    "\u2028",
    "\ufeff",
    "\ud83d",
    "ı",
    "é\u0301",
    "\u202e",
    "\xff\xfe",
  ],
  ...[
    "[]",
    "{}",
    "[null]",
    "[[]]",
    '{"__proto__":{"a":1}}',
    "{ }",
    "[",
    "]]>",
    "<!DOCTYPE a [",
    "&amp;",
    "&lol;",
  ],
  ...[
    "'",
    '"',
    "\\",
    "\\\n",
    "#",
    ";",
    "|",
    ">",
    "- ",
    "? ",
    "*a",
    "&a ",
    "<<: *a",
    "---",
    "\t",
    "\r\n",
    "=",
    "%00",
  ],
  ...[
    "::1",
    "1.2.3.4.5",
    "999.1.1.1",
    "http://[",
    "https://a:99999",
    "2026-02-31T25:61:00Z",
    "../../../../etc/x",
  ],
  ...["\x80", "\x84\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x30\x80", "\x1f\x8b"],
];

export const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom(...onTrees, ...onTrees, ...onText),
  at: fc.nat(0xffff),
  other: fc.nat(0xffff),
  times: fc.oneof({ arbitrary: fc.nat(3), weight: 8 }, { arbitrary: fc.nat(200), weight: 2 }),
});

const nodesIn = (trees: readonly Tree[]): readonly Tree[] =>
  trees.flatMap((tree) => [tree, ...nodesIn(tree.children)]);

const replaced = (trees: readonly Tree[], node: Tree, by: readonly Tree[]): readonly Tree[] =>
  trees.flatMap((tree) => {
    if (tree === node) return by;
    return { ...tree, children: replaced(tree.children, node, by) };
  });

const newNode = (node: Tree, others: readonly Tree[], { kind, other, times }: Edit): readonly Tree[] => {
  const token = tokens[other % tokens.length] ?? "";
  switch (kind) {
    case "remove":
      return [];
    case "repeat":
      return Array.from({ length: 1 + times }, () => node);
    case "nest":
      return [
        Array.from({ length: times }).reduce<Tree>((inner) => ({ tag: inner.tag, children: [inner] }), node),
      ];
    case "set":
      return [{ tag: node.tag, value: token, children: [] }];
    case "rename":
      return [{ ...node, tag: node.tag.slice(0, 1) + token.replaceAll('"', "") }];
    case "move": {
      const { value, children } = others[other % others.length] ?? node;
      return [{ tag: node.tag, ...(value !== undefined && { value }), children }];
    }
    default:
      return [{ tag: node.tag, children: [] }];
  }
};

const editText = (text: string, { kind, at, other, times }: Edit): string => {
  const from = text.length === 0 ? 0 : at % text.length;
  const to = from + (other % 24);
  switch (kind) {
    case "cut":
      return text.slice(0, from);
    case "insert":
      return text.slice(0, from) + (tokens[other % tokens.length] ?? "") + text.slice(from);
    case "again":
      return text.slice(0, from) + text.slice(from, to).repeat(times) + text.slice(from);
    default:
      return `${text.slice(0, from)}${String.fromCharCode(text.charCodeAt(from) ^ (1 << (other % 8)))}${text.slice(from + 1)}`;
  }
};

/** Inputs do not grow beyond this size, whatever the edits. */
const longest = 256 * 1024;

export const mutated = (text: string, edits: readonly Edit[], form: Form): string => {
  const ofTrees = edits.filter(({ kind }) => onTrees.some((one) => one === kind));
  let trees: readonly Tree[] | undefined = ofTrees.length > 0 ? form.parse(text) : undefined;
  for (const one of ofTrees) {
    if (trees === undefined) break;
    const nodes = nodesIn(trees);
    const node = nodes[one.at % nodes.length];
    if (node === undefined || nodes.length > 5000) break;
    trees = replaced(trees, node, newNode(node, nodes, one));
  }
  const start = trees === undefined ? text : form.print(trees);
  return edits
    .filter((one) => !ofTrees.includes(one))
    .reduce(editText, start)
    .slice(0, longest);
};
