// Listings: labels and their selectors, filters, order, and pages with `meta.pagination`. A lie changes the page and keeps its total.

import type { Answer } from "#ccm/testing";
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

/** `a==b, c!=d, e, !f`. Throws a Refusal about the field when it is invalid. */
export function labelSelector(selector: string, field: string): (labels: Labels) => boolean {
  const requirements = selector.split(",").map((part) => requirementOf(part.trim()));
  return (labels) =>
    requirements.every((matches) => {
      if (matches === undefined) throw invalid(field, `invalid label selector ${JSON.stringify(selector)}`);
      return matches(labels);
    });
}

/**
 * How a listing deviates from the truth:
 * - `short-page`  the page lacks its last entry
 * - `empty-list`  there is no entry, and the total is 0
 * - `duplicate`   the page has its first entry twice, and lacks its last one
 * - `shift`       an entry of an earlier page disappeared, so this page begins one entry too late and the total is one less
 */
export const listLies = ["short-page", "empty-list", "duplicate", "shift"] as const;
export type ListLie = (typeof listLies)[number];

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly labels?: Labels;
}

const parameters = ["name", "label_selector", "page", "per_page"];

/** Applies `name` and `label_selector`. Another parameter is refused, because its effect would be missing. */
export function choose<T extends Listed>(all: readonly T[], query: URLSearchParams): readonly T[] {
  const unknown = [...query.keys()].find((key) => !parameters.includes(key));
  if (unknown !== undefined) throw invalid(unknown, "the simulated cloud does not have this parameter");
  const name = query.get("name");
  const selector = query.get("label_selector");
  const matches = selector === null ? undefined : labelSelector(selector, "label_selector");
  // An invalid selector is an error for an empty collection too.
  matches?.({});
  let chosen = all;
  if (name !== null) chosen = chosen.filter((entry) => entry.name === name);
  if (matches !== undefined) chosen = chosen.filter(({ labels = {} }) => matches(labels));
  return chosen;
}

const defaultPerPage = 25;
const maxPerPage = 50;

function numberIn(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw invalid(name, "must be a positive integer");
  return Number(text);
}

function slice<T>(all: readonly T[], start: number, size: number, lie: ListLie | undefined): readonly T[] {
  const page = all.slice(start, start + size);
  if (lie === "short-page") return page.slice(0, -1);
  if (lie === "duplicate") return [...page.slice(0, 1), ...page].slice(0, page.length);
  return page;
}

/** One page, with `view` applied to its entries. */
export function pageOf<T>(
  key: string,
  all: readonly T[],
  { query, lie }: { readonly query: URLSearchParams; readonly lie?: ListLie | undefined },
  view: (entry: T) => unknown,
): Answer {
  const perPage = Math.min(maxPerPage, numberIn(query, "per_page", defaultPerPage));
  const page = numberIn(query, "page", 1);
  const shown = lie === "empty-list" ? [] : lie === "shift" ? all.slice(1) : all;
  const last = Math.max(1, Math.ceil(shown.length / perPage));
  return {
    status: 200,
    body: {
      [key]: slice(shown, (page - 1) * perPage, perPage, lie).map(view),
      meta: {
        pagination: {
          page,
          per_page: perPage,
          previous_page: page > 1 ? page - 1 : null,
          next_page: page < last ? page + 1 : null,
          last_page: last,
          total_entries: shown.length,
        },
      },
    },
  };
}
