// Parses and matches label selectors, equality-based and set-based.

import { badRequest } from "../objects/api-error.ts";

type Labels = Readonly<Record<string, string>> | undefined;
export type LabelPredicate = (labels: Labels) => boolean;

const everything: LabelPredicate = () => true;

const tokens = (text: string): string[] => text.match(/!=|==|=|!|\(|\)|,|>|<|[^\s!=(),<>]+/g) ?? [];

function fail(found: string | undefined, expected: string): never {
  throw badRequest(`unable to parse requirement: found '${found ?? ""}', expected: ${expected}`);
}

function readValues(words: string[]): ReadonlySet<string> {
  if (words.shift() !== "(") return fail(words[0], "(");
  const values = new Set<string>();
  for (;;) {
    const word = words.shift();
    if (word === undefined) return fail("", "identifier or ')'");
    if (word === ")") return values;
    if (word !== ",") values.add(word);
  }
}

function isWord(word: string | undefined): word is string {
  return word !== undefined && /^[A-Za-z0-9][-A-Za-z0-9_./]*$/.test(word);
}

function readRequirement(words: string[]): LabelPredicate {
  const first = words.shift();
  if (first === "!") {
    const key = words.shift();
    return isWord(key) ? (labels) => labels?.[key] === undefined : fail(key, "identifier");
  }
  if (!isWord(first)) return fail(first, "!, identifier, or ','");
  const operator = words[0];
  if (operator === undefined || operator === ",") return (labels) => labels?.[first] !== undefined;
  words.shift();
  const value = () => (isWord(words[0]) ? (words.shift() ?? "") : "");
  switch (operator) {
    case "=":
    case "==": {
      const wanted = value();
      return (labels) => labels?.[first] === wanted;
    }
    case "!=": {
      const unwanted = value();
      return (labels) => labels?.[first] !== unwanted;
    }
    case "in": {
      const values = readValues(words);
      return (labels) => labels?.[first] !== undefined && values.has(labels[first]);
    }
    case "notin": {
      const values = readValues(words);
      return (labels) => labels?.[first] === undefined || !values.has(labels[first]);
    }
    case ">":
    case "gt": {
      const bound = Number(value());
      return (labels) => Number(labels?.[first]) > bound;
    }
    case "<":
    case "lt": {
      const bound = Number(value());
      return (labels) => Number(labels?.[first]) < bound;
    }
    default:
      return fail(operator, "in, notin, =, ==, !=, gt, lt");
  }
}

export function readLabelSelector(text: string | undefined): LabelPredicate {
  if (text === undefined || text.trim() === "") return everything;
  const words = tokens(text);
  const requirements: LabelPredicate[] = [];
  while (words.length > 0) {
    requirements.push(readRequirement(words));
    if (words.length > 0 && words.shift() !== ",") fail(words[0], "',' or 'end of string'");
  }
  return (labels) => requirements.every((matches) => matches(labels));
}
