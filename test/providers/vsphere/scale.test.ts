// How many requests the manager of vSphere sends in common situations.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { VSphereWorld } from "./vsphere-world.ts";

const zones = { "label-zone": "k8s-zone", "label-region": "k8s-region" };

test.if(runsAllTests)(
  "initializes 1,000 Nodes of vSphere with 6 requests, another one with 2, and restarts with 6 [F9 F51]",
  async () => {
    const h = new VSphereWorld();
    for (let index = 0; index < 1000; index += 1) h.join(`node-${index}`);
    await h.start();
    await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
    const atStart = { RetrieveServiceContent: 1, Login: 1, CreateContainerView: 1 };
    const listing = { RetrievePropertiesEx: 1, ContinueRetrievePropertiesEx: 2 };
    expect(h.cloud.counts()).toEqual({ ...atStart, ...listing });
    await h.world.pass(20);
    h.forget();
    h.join("one-more");
    await h.world.until(() => h.uninitialized === 0, "the other Node", 10);
    expect(h.cloud.counts()).toEqual({ FindAllByUuid: 1, RetrievePropertiesEx: 1 });
    await h.world.pass(20);
    h.forget();
    await h.world.stop();
    expect(h.cloud.counts()).toEqual({ Logout: 1 });
    h.forget();
    await h.start();
    await h.world.pass(60);
    expect(h.cloud.counts()).toEqual({ ...atStart, ...listing });
    expect(h.world.written).toEqual([]);
  },
);

test.if(runsAllTests)(
  "with zones, 1,000 Nodes of vSphere take a session for the tags, one request for attached tags, and one for each tag and category",
  async () => {
    const h = new VSphereWorld({ settings: zones });
    for (let index = 0; index < 1000; index += 1) h.join(`node-${index}`);
    await h.start();
    await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
    expect(h.requests).toHaveLength(12);
    h.forget();
    h.join("one-more");
    await h.world.until(() => h.uninitialized === 0, "the other Node", 10);
    expect(h.requests).toHaveLength(2);
    expect(h.node("one-more")?.metadata.labels).toMatchObject({
      "topology.kubernetes.io/zone": "zone-DC-vcenter",
      "topology.kubernetes.io/region": "region-DC-vcenter",
    });
  },
);

test.if(runsAllTests).each([
  ["without zones", {}],
  ["with zones", zones],
])(
  "an idle manager of 1,000 Nodes sends at most 60 requests an hour to vSphere, %s [F9]",
  async (_, settings) => {
    const h = new VSphereWorld({ settings });
    for (let index = 0; index < 1000; index += 1) h.addNode(`node-${index}`);
    await h.start();
    await h.world.pass(120);
    for (const _hour of [1, 2, 3]) {
      h.forget();
      await h.world.pass(3600);
      expect(h.requests.length).toBeLessThanOrEqual(60);
    }
    expect(h.cloud.sessions.size).toBeLessThanOrEqual(1);
  },
);
