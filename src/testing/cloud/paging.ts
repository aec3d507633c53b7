// Numbered pages, as in most clouds, and how a listing deviates from the truth.

import { Refused } from "./refused.ts";

/**
 * - `short-page`  the page lacks its last entry
 * - `empty-list`  there is no entry, and the total is 0
 * - `duplicate`   the page has its first entry twice, and lacks its last one
 * - `shift`       an entry of an earlier page disappeared, so this page begins one entry too late and the total is one less
 */
export const listLies = ["short-page", "empty-list", "duplicate", "shift"] as const;
/** One of `listLies`. */
export type ListLie = (typeof listLies)[number];

/** A page of a listing, with what the response states about other pages. */
export interface NumberedPage<T> {
  readonly page: number;
  readonly perPage: number;
  readonly entries: readonly T[];
  /** The number of the last page, at least 1. */
  readonly last: number;
  readonly total: number;
}

function numberIn(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Refused(422, `${name} must be a positive integer`);
  return Number(text);
}

function slice<T>(all: readonly T[], start: number, size: number, lie: ListLie | undefined): readonly T[] {
  const page = all.slice(start, start + size);
  if (lie === "short-page") return page.slice(0, -1);
  if (lie === "duplicate") return [...page.slice(0, 1), ...page].slice(0, page.length);
  return page;
}

/** The page that the query's `page` and `per_page` request. A lie changes the page but keeps its total. */
export function numberedPage<T>(
  all: readonly T[],
  query: URLSearchParams,
  sizes: { readonly default: number; readonly max: number },
  lie?: ListLie,
): NumberedPage<T> {
  const perPage = Math.min(sizes.max, numberIn(query, "per_page", sizes.default));
  const page = numberIn(query, "page", 1);
  const shown = lie === "empty-list" ? [] : lie === "shift" ? all.slice(1) : all;
  const last = Math.max(1, Math.ceil(shown.length / perPage));
  const entries = slice(shown, (page - 1) * perPage, perPage, lie);
  return { page, perPage, entries, last, total: shown.length };
}
