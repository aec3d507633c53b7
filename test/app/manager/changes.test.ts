// A manager whose cloud reports changes: what is read again, and what is ignored.

import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { minutes, serviceUID } from "../../../src/core/brand.ts";
import type { ChangeHint } from "../../../src/provider/changes.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { ServiceWorld } from "../../support/service-world.ts";

/** A stream that the test controls. */
class Stream {
  readonly maxSilence = minutes(1000);
  #waiting: (hints: readonly ChangeHint[]) => void = () => undefined;

  report(...hints: readonly ChangeHint[]): void {
    this.#waiting(hints);
  }

  async *follow(): AsyncIterable<readonly ChangeHint[]> {
    yield [];
    for (;;) {
      yield await new Promise<readonly ChangeHint[]>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }
}

/** Six Nodes, and pages of two machines. */
async function started(controllers: string, ...flags: readonly string[]) {
  const stream = new Stream();
  const { connect } = fake as unknown as AnyProvider;
  const provider: AnyProvider = {
    ...(fake as unknown as AnyProvider),
    connect: (config, context) => ({ ...connect(config, context), changes: stream }),
  };
  const world = new ServiceWorld({ nodes: 6, provider, controllers });
  for (let index = 0; index < 6; index += 1) world.setReady(`node-${index}`, "True");
  await world.start("--config-set=page-size=2", ...flags);
  await world.pass(30);
  world.forget();
  const requests = (): readonly string[] => world.cloud.seen.map(({ operation }) => operation);
  return { world, stream, requests };
}

const machine = (key?: string): ChangeHint => ({ of: "instance", source: "machines", key });

test("looks up a single machine that may have changed, and updates its Node", async () => {
  const { world, stream, requests } = await started("cloud-node,cloud-node-lifecycle");
  const [one] = world.cloud.machines.find("node-1");
  world.cloud.machines.resize("node-1", "large-8");
  stream.report(machine(one?.id));
  await world.pass(1);
  // A listing takes three requests.
  expect(requests()).toEqual(["GET /machines"]);
  const node = world.server.store.get("nodes", undefined, "node-1");
  expect(node?.metadata.labels).toMatchObject({ "fake.example/type": "large-8" });
});

test("sends no request for unknown names", async () => {
  const { world, stream, requests } = await started("cloud-node,service");
  stream.report(
    machine("4711"),
    { of: "instance", source: "elsewhere" },
    { of: "load-balancer", owner: serviceUID("unknown") },
  );
  await world.pass(10);
  expect(requests()).toEqual([]);
  expect(world.manager.metrics.text()).toContain('fairlead_change_hints_total{result="ignored"} 1');
});

test("sends one listing for all load balancers that may have changed, and only if a controller needs them", async () => {
  const { world, stream, requests } = await started("service");
  world.create("web");
  await world.until(() => world.addressesOf("web").length > 0, "the address");
  await world.pass(10);
  world.forget();
  const { uid } = world.get("web").metadata;
  const hint = { of: "load-balancer", owner: serviceUID(uid) } as const;
  stream.report(hint, hint);
  await world.pass(10);
  expect(requests()).toEqual(["GET /balancers"]);
  const nodesOnly = await started("cloud-node");
  nodesOnly.stream.report({ of: "load-balancer" });
  await nodesOnly.world.pass(10);
  expect(nodesOnly.requests()).toEqual([]);
});

test("a restarted session lists the load balancers that may have changed", async () => {
  const { world, stream, requests } = await started("service", "--leader-elect=true");
  world.create("web");
  await world.until(() => world.addressesOf("web").length > 0, "the address");
  for (let time = 0; time < 60; time += 5) {
    world.holdLease("other");
    await world.pass(5);
  }
  world.holdLease("");
  await world.until(() => world.manager.leads(), "it to lead");
  await world.pass(60);
  world.forget();
  stream.report({ of: "load-balancer", owner: serviceUID(world.get("web").metadata.uid) });
  await world.pass(10);
  expect(requests()).toEqual(["GET /balancers"]);
});
