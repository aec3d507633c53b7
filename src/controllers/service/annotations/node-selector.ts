// Label selectors for Nodes in kubectl's syntax, equality-based and set-based. An invalid selector is an error, never an
// empty selector. Pure.

import { quoted } from "../../../core/fields.ts";
import type { Labels } from "../../../kube/objects.ts";

export interface NodeSelector {
  /** As written, for messages. */
  readonly text: string;
  matches(labels: Labels): boolean;
}

type Requirement = (labels: Labels) => boolean;

const word = "[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?";
const isEqual = new RegExp(`^(${word})\\s*(==?|!=)\\s*(${word})?$`);
const isIn = new RegExp(
  `^(${word})\\s+(in|notin)\\s*\\(\\s*((?:${word})?(?:\\s*,\\s*(?:${word})?)*)\\s*\\)$`,
);
const isThere = new RegExp(`^(!?)\\s*(${word})$`);

/** Splits at commas outside parentheses. */
function requirementTexts(text: string): readonly string[] {
  return text.split(/,(?![^(]*\))/).map((part) => part.trim());
}

function readRequirement(text: string): Requirement | undefined {
  const [, key, operator, value = ""] = isEqual.exec(text) ?? [];
  if (key !== undefined) {
    return operator === "!=" ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  const [, setKey, kind, list = ""] = isIn.exec(text) ?? [];
  if (setKey !== undefined) {
    const values = new Set(list.split(",").map((value) => value.trim()));
    const isMember: Requirement = (labels) => {
      const label = labels[setKey];
      return label !== undefined && values.has(label);
    };
    // As in Kubernetes: an absent label is not in the set.
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
