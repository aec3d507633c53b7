// Label selectors for Nodes in kubectl's syntax, as Kubernetes parses them, and the setting that contains one. An invalid
// selector is an error, never an empty selector. Pure.

import { type Built, buildField, type FieldOptions, quoted } from "./fields.ts";

type Labels = Readonly<Record<string, string>>;

/** Selects Nodes by label. */
export interface NodeSelector {
  /** The selector as written, for messages. */
  readonly text: string;
  matches(labels: Readonly<Record<string, string>>): boolean;
}

export const expectedSelector = 'a label selector such as "pool=web,tier!=test" or "pool in (web, api)"';
const everyNode: NodeSelector = { text: "", matches: () => true };

type Requirement = (labels: Labels) => boolean;

// Tenants write selectors, so each pattern must fail in linear time: no character matches two neighboring parts.
const word = "[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?";
const labelKey = `(?:${word}/)?${word}`;
const isCompared = new RegExp(`^(${labelKey})\\s*(==?|!=|<|>)\\s*(${word})?$`);
const isIn = new RegExp(`^(${labelKey})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const isThere = new RegExp(`^(!?)\\s*(${labelKey})$`);
const isValue = new RegExp(`^(${word})?$`);

/** Splits at commas outside parentheses. */
function requirementTexts(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (character === "(") isInside = true;
    if (character === ")") isInside = false;
    if (at < text.length && (character !== "," || isInside)) continue;
    parts.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return parts;
}

/** NaN is neither less nor greater, so a missing label or one that is not a number never matches. */
const numberIn = (text = ""): number => (/^\d+$/.test(text) ? Number(text) : Number.NaN);

function readRequirement(text: string): Requirement | undefined {
  const [, key, operator, value = ""] = isCompared.exec(text) ?? [];
  if (key !== undefined) {
    if (operator === "!=") return (labels) => labels[key] !== value;
    if (operator !== "<" && operator !== ">") return (labels) => labels[key] === value;
    const limit = numberIn(value);
    if (Number.isNaN(limit)) return undefined;
    return ({ [key]: label }) => (operator === "<" ? numberIn(label) < limit : numberIn(label) > limit);
  }
  const [, setKey, kind, list = ""] = isIn.exec(text) ?? [];
  if (setKey !== undefined) {
    const values = new Set(list.split(",").map((value) => value.trim()));
    if (![...values].every((value) => isValue.test(value))) return undefined;
    const isMember: Requirement = (labels) => {
      const label = labels[setKey];
      return label !== undefined && values.has(label);
    };
    // As in Kubernetes, a missing label is not in the set.
    return kind === "in" ? isMember : (labels) => !isMember(labels);
  }
  const [, not, name] = isThere.exec(text) ?? [];
  if (name === undefined) return undefined;
  return not === "!" ? (labels) => labels[name] === undefined : (labels) => labels[name] !== undefined;
}

export function parseNodeSelector(
  raw: string,
): { readonly value: NodeSelector } | { readonly wrong: string } {
  const text = raw.trim();
  const requirements: Requirement[] = [];
  for (const part of requirementTexts(text)) {
    const requirement = readRequirement(part);
    if (requirement === undefined) return { wrong: quoted(part) };
    requirements.push(requirement);
  }
  return { value: { text, matches: (labels) => requirements.every((matches) => matches(labels)) } };
}

/**
 * A label selector in kubectl's syntax, such as `pool=web,tier!=test`. An empty one matches every Node. Name an annotation with
 * it in `ProviderDefinition.annotations.targetSelector`, and the framework selects the targets.
 */
export function nodeSelector<const O extends FieldOptions<NodeSelector>>(
  what: string,
  options?: O,
): Built<NodeSelector, O> {
  return buildField(
    what,
    expectedSelector,
    (raw) => (raw.trim() === "" ? { value: everyNode } : parseNodeSelector(raw)),
    options,
  );
}
