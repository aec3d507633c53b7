// The settings of Acme: how to reach its API, and the annotations for its load balancers. The help and the reference page
// are generated from these tables.

import { integer, oneOf, secret, url } from "#ccm";

export const config = {
  endpoint: url("URL of the Acme API.", { fallback: "https://api.acme.example", env: "ACME_ENDPOINT" }),
  token: secret("API token.", { required: true, env: "ACME_TOKEN" }),
  "page-size": integer("Entries per page of a listing.", { min: 1, max: 500 }, { fallback: 50 }),
};

export const annotations = {
  algorithm: oneOf("How the load balancer chooses a target.", ["round-robin", "least-connections"], {
    fallback: "round-robin",
  }),
};
