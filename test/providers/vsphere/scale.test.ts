// How many requests the manager of vSphere sends in common situations.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { VSphereWorld } from "./vsphere-world.ts";

const zones = { "label-zone": "k8s-zone", "label-region": "k8s-region" };

test.if(runsAllTests)(
  "initializes 1,000 Nodes of vSphere with 3 requests and a later Node with 2, and restarts with 3 [F9 F51]",
  async () => {
    const h = new VSphereWorld();
    for (let index = 0; index < 1000; index += 1) h.join(`node-${index}`);
    await h.start();
    await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
    const listing = { Login: 1, CreateContainerView: 1, RetrievePropertiesEx: 1 };
    expect(h.cloud.counts()).toEqual(listing);
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
    expect(h.cloud.counts()).toEqual(listing);
    expect(h.world.written).toEqual([]);
  },
);

test.if(runsAllTests).each([
  ["8.0.3.0", 8],
  ["8.0.2.0", 9],
])(
  "with zones and vCenter %s, 1,000 Nodes join with %d requests, a later Node with 2, and a restart writes nothing [F51]",
  async (version, requests) => {
    const h = new VSphereWorld({ settings: zones });
    h.cloud.apiVersion = version;
    for (let index = 0; index < 1000; index += 1) h.join(`node-${index}`);
    await h.start();
    await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
    expect(h.requests).toHaveLength(requests);
    await h.world.pass(20);
    h.forget();
    h.join("one-more");
    await h.world.until(() => h.uninitialized === 0, "the other Node", 10);
    expect(h.requests).toHaveLength(2);
    expect(h.node("one-more")?.metadata.labels).toMatchObject({
      "topology.kubernetes.io/zone": "zone-DC-vcenter",
      "topology.kubernetes.io/region": "region-DC-vcenter",
    });
    await h.world.stop();
    h.forget();
    await h.start();
    await h.world.pass(60);
    expect(h.requests).toHaveLength(requests);
    expect(h.world.written).toEqual([]);
    await h.world.stop();
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
