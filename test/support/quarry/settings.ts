// Settings, annotations and reasons of Quarry.

import { declareReasons, integer, records, secret, text } from "#ccm";

export const config = {
  regions: records(
    "The regions of the cluster.",
    {
      name: text("Name of the region, part of provider ids.", { required: true }),
      endpoint: text("URL of its API.", { required: true }),
      network: text("Id of the network whose routes lead to pods.", { required: true }),
      members: integer("How many members a pool may have.", { min: 1 }, { fallback: 100 }),
    },
    { required: true, unique: "name" },
  ),
  token: secret("The API token.", { required: true, env: "QUARRY_TOKEN" }),
};

export const annotations = {
  region: text("The region of the load balancer. Default: the first one.", { whenChanged: "reject" }),
};

export const reasons = declareReasons({
  RegionNotConfigured: "The annotation names a region that is not configured. Correct it, or add the region.",
});
