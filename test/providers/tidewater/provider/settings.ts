// The settings of Tidewater: the API key and the annotations for load balancers.

import { declareReasons, oneOf, secret } from "#ccm";

export const zoneNames = ["north", "east", "isle"] as const;
export type Zone = (typeof zoneNames)[number];

/** Whether a load balancer of one zone reaches the machines of the other. */
export const isLinked = (one: string, other: string) => one === other || (one !== "isle" && other !== "isle");

/** How many members a pool may have. */
export const memberLimits = { compact: 4, wide: 16 } as const;

export const config = {
  key: secret("The API key, for all zones.", { required: true, env: "TIDEWATER_KEY" }),
};

export const annotations = {
  zone: oneOf("The zone of the load balancer.", zoneNames, { fallback: "north", whenChanged: "recreate" }),
  class: oneOf("How many ports and Nodes it may have: 3 and 4, or 12 and 16.", ["compact", "wide"], {
    fallback: "compact",
    whenChanged: "recreate",
  }),
};

export const reasons = declareReasons({
  LabelTaken: "Another frontend has the label that the Service needs. Delete it, or give it another label.",
});
