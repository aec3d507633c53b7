// The settings of the fake cloud and its Service annotations. Parsing, --help and the reference pages use these tables.

import { flag, integer, oneOf, Secret, secret, text, url } from "#ccm";

export const config = {
  endpoint: url("URL of the cloud API.", {
    example: "http://127.0.0.1:8620",
    fallback: "http://127.0.0.1:8620",
    env: "FAKE_ENDPOINT",
  }),
  token: secret("Token for the cloud API.", { fallback: new Secret("fake"), env: "FAKE_TOKEN" }),
  "page-size": integer(
    "Entries per page of a listing.",
    { min: 1, max: 500 },
    { fallback: 50, reload: "live" },
  ),
  "lookup-limit": integer(
    "Maximum number of machines per lookup request.",
    { min: 1, max: 500 },
    { fallback: 100, reload: "live" },
  ),
  "target-limit": integer("Maximum number of targets per load balancer. Default: unlimited.", { min: 1 }),
  "answer-any-node": flag("Invent a machine for every Node name instead of using a cloud; for benchmarks.", {
    fallback: false,
  }),
};

export const annotations = {
  algorithm: oneOf("How the load balancer selects a target.", ["round-robin", "least-connections"], {
    fallback: "round-robin",
  }),
  adopt: text("Id of an existing, unmanaged load balancer to adopt instead of creating a new one."),
};
