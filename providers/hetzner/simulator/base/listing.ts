// Listings: labels and their selectors, filters, order, and pages with `meta.pagination`. A lie changes the page and keeps its total.

import { type Answer, type ListLie, numberedPage } from "#ccm/testing";
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
function requirementOf(text: string): Requirement | undefined {
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

/** Parses `a==b, c!=d, e, !f`. Throws a Refusal about the field if it is invalid. */
export function labelSelector(selector: string, field: string): (labels: Labels) => boolean {
  const requirements = selector.split(",").map((part) => requirementOf(part.trim()));
  return (labels) =>
    requirements.every((matches) => {
      if (matches === undefined) throw invalid(field, `invalid label selector ${JSON.stringify(selector)}`);
      return matches(labels);
    });
}

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly labels?: Labels;
}

const parameters = ["name", "label_selector", "page", "per_page"];

/** Applies `name` and `label_selector`. Any other parameter is rejected, because it would have no effect. */
export function choose<T extends Listed>(all: readonly T[], query: URLSearchParams): readonly T[] {
  const unknown = [...query.keys()].find((key) => !parameters.includes(key));
  if (unknown !== undefined) throw invalid(unknown, "the simulated cloud does not have this parameter");
  const name = query.get("name");
  const selector = query.get("label_selector");
  const matches = selector === null ? undefined : labelSelector(selector, "label_selector");
  // An invalid selector is an error even for an empty collection.
  matches?.({});
  let chosen = all;
  if (name !== null) chosen = chosen.filter((entry) => entry.name === name);
  if (matches !== undefined) chosen = chosen.filter(({ labels = {} }) => matches(labels));
  return chosen;
}

const sizes = { default: 25, max: 50 };

/** A page, with `view` applied to its entries. */
export function pageOf<T>(
  key: string,
  all: readonly T[],
  { query, lie }: { readonly query: URLSearchParams; readonly lie?: ListLie | undefined },
  view: (entry: T) => unknown,
): Answer {
  const { page, perPage, entries, last, total } = numberedPage(all, query, sizes, lie);
  return {
    status: 200,
    body: {
      [key]: entries.map(view),
      meta: {
        pagination: {
          page,
          per_page: perPage,
          previous_page: page > 1 ? page - 1 : null,
          next_page: page < last ? page + 1 : null,
          last_page: last,
          total_entries: total,
        },
      },
    },
  };
}
