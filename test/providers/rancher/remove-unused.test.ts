// Events that may occur between the requests before the removal of an external service.

import { expect, test } from "bun:test";
import { applyStep } from "../../../providers/rancher/apply.ts";
import { metadataOf } from "../../../providers/rancher/balancer.ts";

const call = { signal: new AbortController().signal, urgency: "user-change" } as const;
const ofService = (uid: string) => metadataOf("kubernetes", uid as never);

test("keeps an external service that another load balancer of this cluster begins to use after the first request", async () => {
  const requests: string[] = [];
  const users: object[] = [];
  const asked = (what: string): void => {
    if (requests.push(what) === 1) users.push({ id: "1s9", state: "active", metadata: ofService("u2") });
  };
  const api = {
    read: async () => {
      asked("GET service");
      return { id: "1s1", state: "active", type: "externalService", metadata: ofService("u1") };
    },
    listAt: async function* () {
      const page = [...users];
      asked("GET consumedbyservices");
      yield page;
    },
    send: async (method: string) => void requests.push(method),
  };
  const step = {
    do: "remove external service",
    on: "node-1",
    kind: "remove unused",
    user: "1s2",
    isLeftover: false,
    link: "http://r/1s1",
    consumers: "http://r/1s1/consumedbyservices",
  };
  await applyStep({ api, cluster: "kubernetes" } as never, step as never, call);
  expect(requests).toEqual(["GET service", "GET consumedbyservices"]);
});
