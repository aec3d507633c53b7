// The tags in `--tags` on instances, and the Go manager's label on Nodes whose instance has the tags.

import type { MachineTags } from "#ccm";
import type { Ec2Api } from "./api/ec2.ts";
import { tagList } from "./load-balancers/balancer-names.ts";
import type { Settings } from "./settings.ts";

/** EC2 accepts 1,000 instances. The limit here is smaller, because a missing instance fails the whole request. */
const maxInstances = 200;

/** The checksum of the tags, sorted by code unit as in Go. */
function checksum(tags: ReadonlyMap<string, string>): string {
  const all = [...tags].map(([key, value]) => `${key}=${value}`).toSorted();
  return new Bun.CryptoHasher("md5").update(all.join(",")).digest("hex");
}

/** Undefined unless the settings have tags for instances. */
export function instanceTags(ec2: Ec2Api, { tags, resources = [] }: Settings): MachineTags | undefined {
  if (tags === undefined || tags.size === 0 || !resources.includes("instance")) return undefined;
  const all = tagList(tags);
  return {
    label: { key: "k8s.io/cloud-provider-aws", value: checksum(tags) },
    limit: maxInstances,
    add: async (ids, call) => {
      await ec2.change("CreateTags", { ResourceId: ids, Tag: all }, call);
    },
    remove: async (ids, call) => {
      await ec2.change("DeleteTags", { ResourceId: ids, Tag: all }, call);
    },
  };
}
