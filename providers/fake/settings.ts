// What can be set for the fake cloud: how to reach it, and how its balancers behave. Reading, help and the reference page
// come from these tables.

import { flag, integer, oneOf, Secret, secret, text } from "#ccm";

export const config = {
  endpoint: text("Where the cloud listens.", { fallback: "http://127.0.0.1:8620", env: "FAKE_ENDPOINT" }),
  token: secret("The token for its API.", { fallback: new Secret("fake"), env: "FAKE_TOKEN" }),
  "page-size": integer("Entries asked for in one page.", { min: 1, max: 500 }, { fallback: 50 }),
  "lookup-limit": integer("Machines looked up in one request.", { min: 1, max: 500 }, { fallback: 100 }),
  "target-limit": integer("The most targets that a balancer takes; without it, any number.", { min: 1 }),
  "answer-any-node": flag("Make up a machine for every name that is asked for, without any cloud.", {
    fallback: false,
  }),
};

export const annotations = {
  algorithm: oneOf("How a target is picked.", ["round-robin", "least-connections"], {
    fallback: "round-robin",
  }),
  adopt: text("The id of a balancer that nobody manages, to be taken over in place of a new one."),
};
