// The filters of listings: `field=value` and `field_modifier=value`. A filter that the API does not know has no effect. Pure.

import type { View } from "./views.ts";

/** Ids are numbers to the database, with a prefix to clients; other values are texts. */
const numberIn = (id: string): string => id.replace(/^\d+[a-z]+(?=\d)/, "");
const columnOf = (view: View, field: string): unknown => (field === "id" ? numberIn(view.id) : view[field]);

function inOrder(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  if (one !== "" && other !== "" && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return one < other ? -1 : one > other ? 1 : 0;
}

const isNull = (actual: unknown): boolean => actual === null || actual === undefined;
const textOf = (actual: unknown): string => (isNull(actual) ? "" : String(actual)).toLowerCase();

/** `%` stands for any text. */
function isLike(actual: unknown, value: string): boolean {
  const parts = value.toLowerCase().split("%").map(RegExp.escape);
  return new RegExp(`^${parts.join(".*")}$`, "s").test(textOf(actual));
}

const compared = (actual: unknown, value: string): number =>
  isNull(actual) ? Number.NaN : inOrder(textOf(actual), value.toLowerCase());

type Test = (actual: unknown, value: string) => boolean;

/** As in a database: nothing is equal to, unlike or less than null. */
const tests = new Map<string, Test>([
  ["eq", (actual, value) => !isNull(actual) && textOf(actual) === value.toLowerCase()],
  ["ne", (actual, value) => !isNull(actual) && textOf(actual) !== value.toLowerCase()],
  ["lt", (actual, value) => compared(actual, value) < 0],
  ["lte", (actual, value) => compared(actual, value) <= 0],
  ["gt", (actual, value) => compared(actual, value) > 0],
  ["gte", (actual, value) => compared(actual, value) >= 0],
  ["prefix", (actual, value) => !isNull(actual) && textOf(actual).startsWith(value.toLowerCase())],
  ["like", (actual, value) => !isNull(actual) && isLike(actual, value)],
  ["notlike", (actual, value) => !isNull(actual) && !isLike(actual, value)],
  ["null", isNull],
  ["notnull", (actual) => !isNull(actual)],
]);

export const modifiers: readonly string[] = [...tests.keys()];

export interface Filter {
  readonly field: string;
  readonly modifier: string;
  readonly value: string;
}

/** The filters that have an effect: `fields` are those that the schema names. */
export function filtersOf(query: URLSearchParams, fields: readonly string[]): readonly Filter[] {
  return [...query].flatMap(([name, value]) => {
    const at = name.lastIndexOf("_");
    const [field, modifier] = at === -1 ? [name, "eq"] : [name.slice(0, at), name.slice(at + 1)];
    return fields.includes(field) && tests.has(modifier) ? [{ field, modifier, value }] : [];
  });
}

export function matches(view: View, filters: readonly Filter[]): boolean {
  return filters.every(
    ({ field, modifier, value }) => tests.get(modifier)?.(columnOf(view, field), value) === true,
  );
}

/** In the order of a field; entries without it go first. */
export function sorted(views: readonly View[], field: string, order: "asc" | "desc"): readonly View[] {
  const ascending = views.toSorted((one, other) =>
    inOrder(textOf(columnOf(one, field)), textOf(columnOf(other, field))),
  );
  return order === "asc" ? ascending : ascending.toReversed();
}
