// Operations of tags. A tag that a new resource names is created with it.

import {
  type Answer,
  anything,
  fields,
  listOf,
  type OperationRequest,
  type Operations,
  Refused,
  removal,
  type Stored,
  text,
} from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { reads } from "./pages.ts";

const newTag = fields({ name: text(), resources: anything });
const taggedResources = fields({
  resources: listOf(fields({ resource_id: (given: unknown) => String(given), resource_type: text() })),
});

const without = (all: readonly string[], name: string): readonly string[] =>
  all.filter((tag) => tag !== name);

export function tagOperations({ tags, droplets, balancers, volumes }: Account): Operations {
  const path = "/v2/tags";
  const counted = (all: readonly { readonly tags: readonly string[] }[], name: string) => ({
    count: all.filter((each) => each.tags.includes(name)).length,
  });
  const view = ({ name }: Stored) => {
    const all = counted([...droplets.list(), ...balancers.list(), ...volumes.list()], name);
    return { name, resources: { ...all, droplets: counted(droplets.list(), name) } };
  };
  const change = (changed: (tags: readonly string[], tag: string) => readonly string[]) => {
    return ({ id, body }: OperationRequest): Answer => {
      const known = tags.list().find((tag) => tag.name.toLowerCase() === id.toLowerCase());
      const { name } = known ?? tags.withID(id);
      for (const { resource_id, resource_type } of taggedResources(body, "").resources) {
        const records = { droplet: droplets, load_balancer: balancers, volume: volumes }[resource_type];
        if (records === undefined)
          throw new Refused(422, `the simulated API has no resource_type ${resource_type}`);
        records.change(resource_id, { tags: changed(records.withID(resource_id).tags, name) });
      }
      return { status: 204 };
    };
  };
  return {
    ...reads("tags", "tag", { records: tags, view }),
    [`POST ${path}`]: ({ body }) => {
      const { name } = newTag(body, "");
      if (!/^[\w:-]{1,255}$/.test(name)) throw new Refused(422, "Name is invalid");
      return { status: 201, body: { tag: view(tags.put({ id: name, name })) } };
    },
    ...removal(path, tags, ({ name }) => {
      for (const records of [droplets, balancers, volumes])
        for (const { id, tags: before } of records.list())
          records.change(id, { tags: without(before, name) });
    }),
    [`POST ${path}/{id}/resources`]: change((all, name) => [...without(all, name), name]),
    [`DELETE ${path}/{id}/resources`]: change(without),
  };
}
