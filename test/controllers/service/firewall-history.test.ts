import { expect, test } from "bun:test";
import { FirewallHistory } from "../../../src/controllers/service/firewall-history.ts";
import { minutes } from "../../../src/core/brand.ts";
import type { Service } from "../../../src/kube/objects.ts";
import type { Change } from "../../../src/kube/watch/store.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const service: Service = {
  metadata: { name: "web", namespace: "default", uid: "web", resourceVersion: "1" },
  spec: { type: "NodePort", ports: [{ port: 80, protocol: "TCP", nodePort: 30080 }] },
  status: {},
};

test("a standby replica forgets ports of deleted Services that are older than the window of the mass limits", async () => {
  const clock = new VirtualClock();
  let publish: (change: Change<Service>) => void = () => undefined;
  const history = new FirewallHistory({
    clock,
    services: {
      subscribe: (listener: typeof publish) => {
        publish = listener;
        return () => undefined;
      },
    },
    annotations: { prefix: "fake.example/", fields: {} },
    facts: {},
    firewall: { deciding: [], rulesOf: () => [1], textOf: String },
  } as never);
  for (let count = 0; count < 5; count += 1) {
    publish({ key: "default/web", before: service });
    await clock.advance(minutes(11));
  }
  // The last deletion is kept, with its port and the port of its health check.
  expect(history.seenSince(Number.NEGATIVE_INFINITY)).toBe(2);
});
