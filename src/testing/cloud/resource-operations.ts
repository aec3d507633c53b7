// The operations that most kinds of resources have: a listing, a lookup, a deletion, and changes of contained lists.

import { type Field, fields } from "./json-fields.ts";
import type { Records, Stored } from "./records.ts";
import type { OperationRequest, Operations } from "./rest-api.ts";
import type { Answer } from "./simulated-api.ts";

/** The resources that a listing shows, and how. */
export interface Listing<T extends Stored> {
  readonly records: Records<T>;
  /** The record as the API shows it. If unset, the record itself. */
  readonly view?: (record: T) => unknown;
  /** Whether a query selects this record. */
  readonly matches?: (record: T, query: URLSearchParams) => boolean;
}

/** A page of a listing. */
export type PageOf = <T>(
  key: string,
  all: readonly T[],
  request: OperationRequest,
  view: (entry: T) => unknown,
) => Answer;

/** `GET /things` and `GET /things/{id}`. */
export function readOperations<T extends Stored>(
  path: string,
  [plural, singular]: readonly [plural: string, singular: string],
  { records, view = (record) => record, matches = () => true }: Listing<T>,
  pageOf: PageOf,
): Operations {
  return {
    [`GET ${path}`]: (request) => {
      const { query, isHidden } = request;
      const shown = records.listed().filter((record) => matches(record, query) && !isHidden(record));
      return pageOf(plural, shown, request, view);
    },
    [`GET ${path}/{id}`]: ({ id, isHidden }) => {
      const record = records.withID(id);
      if (isHidden(record)) throw records.missing(id);
      return { status: 200, body: { [singular]: view(record) } };
    },
  };
}

/** `DELETE /things/{id}`, unless `check` refuses it. */
export function removal<T extends Stored>(
  path: string,
  records: Records<T>,
  check: (record: T) => void = () => undefined,
): Operations {
  return {
    [`DELETE ${path}/{id}`]: ({ id }) => {
      const record = records.withID(id);
      check(record);
      records.remove(record.id);
      return { status: 204 };
    },
  };
}

type Lists = Readonly<Record<string, readonly unknown[]>>;
/** The fields of a body that are lists. */
export type ListFields = Readonly<Record<string, Field<readonly unknown[]>>>;

/**
 * `POST` and `DELETE` for entries in lists of a resource, such as `/firewalls/{id}/tags`. `parts` describes the
 * lists of a body, by the end of the path. `store` may reject the change.
 */
export function partOperations<T extends Stored>(
  path: string,
  records: Records<T>,
  parts: Readonly<Record<string, ListFields>>,
  store: (after: T, before: T) => void,
): Operations {
  const operations = Object.entries(parts).flatMap(([part, declared]) =>
    ["POST", "DELETE"].map((method) => {
      const serve = ({ id, body }: OperationRequest): Answer => {
        const before = records.withID(id);
        const lists = Object.entries<readonly unknown[]>(fields(declared)(body, "")).map(
          ([name, entries]) => {
            const all = (before as unknown as Lists)[name] ?? [];
            const others = all.filter((each) => !entries.some((entry) => Bun.deepEquals(each, entry)));
            return [name, method === "POST" ? [...others, ...entries] : others];
          },
        );
        store({ ...before, ...Object.fromEntries(lists) }, before);
        return { status: 204 };
      };
      return [`${method} ${path}/{id}/${part}`, serve] as const;
    }),
  );
  return Object.fromEntries(operations);
}
