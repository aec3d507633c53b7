// Shared behavior of all service operations: filtering and paging.

import { Refused, type Stored } from "#ccm/testing";
import { listIn, recordIn, type SentParameters, textIn, textsIn } from "../query.ts";
import type { Resources, Tagged } from "../state/resources.ts";

/** Whether an injected fault hides a resource from a request. */
export type IsHidden = (resource: Stored, kind: "listings" | "lookups") => boolean;

/** The operations of the services by service and action, such as `ec2:DescribeInstances`. They return the content of the response. */
export type QueryOperations = Readonly<
  Record<string, (parameters: SentParameters, isHidden: IsHidden) => object | undefined>
>;

export function tagSet({ tags }: Tagged) {
  return Object.entries(tags).map(([key, value]) => ({ key, value }));
}

/** Records of one kind. */
interface Known<T> {
  readonly shown: readonly T[];
  /** The error for an id that does not exist. */
  readonly missing?: (id: string) => Error;
}

/** Records that have one of the ids and match every filter of a request. `fields` has the values that filters compare. */
export function selected<T extends Tagged>(
  { shown, missing }: Known<T>,
  parameters: SentParameters,
  ids: string,
  fields: (resource: T) => Readonly<Record<string, readonly (string | undefined)[]>>,
): readonly T[] {
  const wanted = textsIn(parameters[ids]);
  const filters = listIn(parameters["Filter"]).map((one) => {
    const { Name, Value } = recordIn(one);
    return { name: textIn(Name) ?? "", values: textsIn(Value) };
  });
  const unknown = wanted.find((id) => !shown.some((one) => String(one.id) === id));
  if (unknown !== undefined && missing !== undefined) throw missing(unknown);
  return shown.filter((resource) => {
    if (wanted.length > 0 && !wanted.includes(String(resource.id))) return false;
    const known = fields(resource);
    return filters.every(({ name, values }) => {
      const tag = name.startsWith("tag:") ? resource.tags[name.slice(4)] : undefined;
      const own =
        name === "tag-key" ? Object.keys(resource.tags) : name.startsWith("tag:") ? [tag] : known[name];
      if (own === undefined)
        throw new Refused(400, `The filter '${name}' is invalid`, "InvalidParameterValue");
      return own.some((value) => value !== undefined && values.includes(value));
    });
  });
}

/** The records that a listing can show. */
export function known<T extends Tagged>(records: Resources<T>): Known<T> {
  return { shown: records.listed(), missing: (id) => records.missing(id) };
}

/** A page of an EC2 listing, and the cursor of the next page. */
export function pageOf<T>(all: readonly T[], parameters: SentParameters, ids: string) {
  const [size, token] = [textIn(parameters["MaxResults"]), textIn(parameters["NextToken"])];
  if (size !== undefined && parameters[ids] !== undefined)
    throw new Refused(
      400,
      `The parameter ${ids} cannot be used with the parameter maxResults`,
      "InvalidParameterCombination",
    );
  const start = token === undefined ? 0 : Number(token.slice("after-".length));
  const end = start + Number(size ?? 1000);
  return { entries: all.slice(start, end), nextToken: end < all.length ? `after-${end}` : undefined };
}
