// Labels of resources, and the label selectors of listings and load balancer targets.

import { invalid } from "./answer.ts";

export type Labels = Readonly<Record<string, string>>;

const name = /^[a-z0-9A-Z]([a-z0-9A-Z._-]{0,61}[a-z0-9A-Z])?$/;
const prefix = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

function isValidKey(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash === -1) return name.test(key);
  return prefix.test(key.slice(0, slash)) && name.test(key.slice(slash + 1));
}

export function isValidLabel(key: string, value: string): boolean {
  return isValidKey(key) && (value === "" || name.test(value));
}

type Requirement = (labels: Labels) => boolean;

const comparison = /^([^!=]+?)\s*(==|!=|=)\s*(.*)$/;
const membership = /^(\S+)\s+(in|notin)\s+\(([^()]*)\)$/;

function requirementOf(text: string): Requirement | undefined {
  const [, listKey = "", word, list = ""] = membership.exec(text) ?? [];
  if (word !== undefined) {
    const values = list.split(",").map((each) => each.trim());
    if (!isValidKey(listKey) || !values.every((value) => isValidLabel(listKey, value))) return undefined;
    const isIn = (labels: Labels) => values.includes(labels[listKey] ?? "\0");
    return word === "in" ? isIn : (labels) => !isIn(labels);
  }
  const [, key = "", operator, value = ""] = comparison.exec(text) ?? [];
  if (operator !== undefined) {
    if (!isValidLabel(key, value)) return undefined;
    return operator === "!=" ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  if (text.startsWith("!")) {
    const absent = text.slice(1).trim();
    return isValidKey(absent) ? (labels) => !Object.hasOwn(labels, absent) : undefined;
  }
  return isValidKey(text) ? (labels) => Object.hasOwn(labels, text) : undefined;
}

/** `a==b, c!=d, e, !f, g in (h, i), j notin (k)`. Throws a Refusal about the field when it is invalid. */
export function labelSelector(selector: string, field: string): (labels: Labels) => boolean {
  // A comma inside parentheses does not separate requirements.
  const requirements = selector.split(/,(?![^(]*\))/).map((part) => requirementOf(part.trim()));
  return (labels) =>
    requirements.every((matches) => {
      if (matches === undefined) throw invalid(field, `invalid label selector ${JSON.stringify(selector)}`);
      return matches(labels);
    });
}
