// The schema of the server: where each collection is, and how its links are followed. Pure.

import { CloudError } from "#ccm";

/** The path of each collection, by type. */
export type Schemas = ReadonlyMap<string, string>;

interface SchemaCollection {
  readonly data?: readonly {
    readonly id: string;
    readonly links?: Readonly<Record<string, string>> | null;
  }[];
}

/** The server writes links with the host by which it knows itself. Requests stay at the host that is configured. */
export function pathOf(link: string, operation: string): string {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url !== undefined) return url.pathname + url.search;
  const text = `${operation}: the server sent ${JSON.stringify(link.slice(0, 80))} as a link, expected a URL.`;
  throw new CloudError("unavailable", text, { operation });
}

export function collectionsOf({ data }: SchemaCollection, base: string): Schemas {
  const operation = "GET /schemas";
  const all = new Map(
    (data ?? []).flatMap(({ id, links }) => {
      const link = links?.["collection"];
      return link === undefined ? [] : [[id, pathOf(link, operation)] as const];
    }),
  );
  if (all.has("host")) return all;
  const text = `The schema of ${base} has no hosts: it is not the API of Rancher 1.6, or the key is of another kind. Correct CATTLE_URL, or use a key of the environment.`;
  throw new CloudError("unavailable", text, { operation });
}
