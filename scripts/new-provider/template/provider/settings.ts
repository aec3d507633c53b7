// What can be set for Acme: how to reach it, and how its balancers behave. Reading, help and the reference page come from
// these tables.

import { integer, oneOf, secret, text } from "#ccm";

export const config = {
  endpoint: text("Where the API of Acme is.", { fallback: "https://api.acme.example", env: "ACME_ENDPOINT" }),
  token: secret("The token for its API.", { required: true, env: "ACME_TOKEN" }),
  "page-size": integer("Entries asked for in one page.", { min: 1, max: 500 }, { fallback: 50 }),
};

export const annotations = {
  algorithm: oneOf("How a target is picked.", ["round-robin", "least-connections"], {
    fallback: "round-robin",
  }),
};
