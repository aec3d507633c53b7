// A provider with two regions, of which one does not answer for some time. Checks invariant 22: no Node gets a provider id
// while the other region could have a machine of the same name.

import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { fakeApi } from "../../providers/fake/api.ts";
import { machineSource } from "../../providers/fake/instances.ts";
import { config } from "../../providers/fake/settings.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { minutes, seconds } from "../../src/core/brand.ts";
import { defineProvider } from "../../src/index.ts";
import type { Node } from "../../src/kube/objects.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { World } from "./world.ts";

const otherRegion = "http://other-region";
/** Machines of the other region have higher ids. */
const firstOtherID = 1000;

const twoRegions = defineProvider({
  contract: 3,
  name: "fake",
  schemes: ["fake://"],
  config,
  connect: (settings, { account }) => {
    const source = (region: string, base: string, isMine: (id: number) => boolean) => {
      const { transport } = account({
        name: region,
        fetch: async () => ({ value: settings.token }),
        sign: (request) => request,
      });
      const api = fakeApi({ base, transport, pageSize: settings["page-size"] });
      const machines = machineSource(api, settings["lookup-limit"]);
      const keyOf = (id: string): string | undefined => {
        const key = machines.keyOf(id);
        return key !== undefined && isMine(Number(key)) ? key : undefined;
      };
      return { ...machines, name: region, keyOf };
    };
    return {
      instances: {
        sources: [
          source("near", settings.endpoint, (id) => id < firstOtherID),
          source("far", otherRegion, (id) => id >= firstOtherID),
        ],
        matchBy: ["name"],
      },
    };
  },
});

/** Two regions that both have a machine for node-0; node-1 and node-2 have one only in the near region. */
class TwoRegions {
  readonly world: World;
  readonly far: FakeCloud;
  readonly guessed: string[] = [];

  constructor(seed: number, flags: readonly string[]) {
    let far: FakeCloud | undefined;
    this.world = new World({
      seed,
      nodes: 3,
      replicas: 1,
      flags: ["--configure-cloud-routes=false", ...flags],
      provider: twoRegions as unknown as AnyProvider,
      divert: (request, signal) => {
        if (far === undefined || !request.url.startsWith(otherRegion)) return undefined;
        return asTransport(far)(request, signal);
      },
      beforeReplicas: (clock) => {
        far = farRegion(clock);
      },
    });
    if (far === undefined) throw new Error("The other region was not created.");
    this.far = far;
    this.world.server.onWrite(({ storage, object }) => {
      const { metadata, spec } = object as unknown as Node;
      if (storage !== "nodes" || (spec.providerID ?? "") === "") return;
      if (this.candidates(metadata.name) > 1) this.guessed.push(metadata.name);
    });
  }

  candidates(name: string): number {
    const { machines } = this.world.cloud;
    return [machines, this.far.machines].flatMap((each) => each.find(name)).length;
  }

  get withID(): readonly string[] {
    return this.world.nodes().flatMap(({ metadata, spec }) => (spec.providerID ? [metadata.name] : []));
  }

  end(): void {
    for (const replica of [...this.world.replicas]) this.world.killReplica(replica);
    this.world.kubelets.stop();
  }
}

const farRegion = (clock: VirtualClock): FakeCloud => {
  const far = new FakeCloud({ clock });
  far.machines.add("node-0", { id: String(firstOtherID) });
  return far;
};

for (const [seed, kind] of (["hang", "status", "reset", "cut"] as const).entries()) {
  test(`violates no invariant while one of two regions fails with ${kind}`, async () => {
    const regions = new TwoRegions(seed + 1, []);
    const { world, far } = regions;
    far.faults.add({ kind, calls: 1e9 });
    await world.clock.advance(minutes(5));
    expect([regions.withID, regions.guessed]).toEqual([[], []]);
    far.faults.clear();
    await world.clock.advance(minutes(10));
    expect([regions.withID, regions.guessed]).toEqual([["node-1", "node-2"], []]);
    expect(world.invariants.violations).toEqual([]);
    regions.end();
  });
}

test("finds a guessed provider id when the wait for the other region is disabled", async () => {
  const regions = new TwoRegions(1, ["--node-match-timeout=0s"]);
  regions.far.faults.add({ kind: "hang", calls: 1e9 });
  await regions.world.clock.advance(seconds(60));
  expect(regions.guessed).toContain("node-0");
  regions.end();
});
