// Operations of tags.

import { Refused, type Stored } from "#ccm/testing";
import { listIn, recordIn, type SentParameters, tagsIn, textIn, textsIn } from "../query.ts";
import type { Account } from "../state/account.ts";
import type { Tagged } from "../state/resources.ts";
import type { QueryOperations } from "./operations.ts";

const kinds: Readonly<Record<string, string>> = {
  i: "InvalidInstanceID",
  sg: "InvalidGroup",
  subnet: "InvalidSubnetID",
  vol: "InvalidVolume",
};

/** Changes the tags of all resources, or of none if one does not exist. */
function changeTags(
  { taggable, untaggable }: Account,
  parameters: SentParameters,
  change: (tags: Tagged["tags"]) => Tagged["tags"],
): undefined {
  const found = textsIn(parameters["ResourceId"]).map((id) => {
    const records = taggable.find((one) => one.get(id) !== undefined);
    if (records !== undefined && !untaggable.has(id)) return { records, id };
    const [prefix = ""] = id.split("-");
    throw new Refused(400, `The ID '${id}' does not exist`, `${kinds[prefix] ?? "InvalidID"}.NotFound`);
  });
  for (const { records, id } of found) {
    const { tags } = records.withID(id);
    records.change(id, { tags: change(tags) } as Partial<Tagged & Stored>);
  }
  return undefined;
}

export function tagOperations(account: Account): QueryOperations {
  return {
    "ec2:CreateTags": (parameters) =>
      changeTags(account, parameters, (tags) => ({ ...tags, ...tagsIn(parameters["Tag"]) })),
    "ec2:DeleteTags": (parameters) =>
      changeTags(account, parameters, (tags) =>
        Object.fromEntries(
          Object.entries(tags).filter(
            ([key, value]) =>
              !listIn(parameters["Tag"]).some((one) => {
                const { Key, Value } = recordIn(one);
                return textIn(Key) === key && (Value === undefined || Value === value);
              }),
          ),
        ),
      ),
  };
}
