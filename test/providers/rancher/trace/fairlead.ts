// The requests of Fairlead for the changes that the Go manager's client makes: in virtual time,
// with 20 ms per request and 1 s per state.

import { RancherWorld } from "../rancher-world.ts";
import { type Change, Measurement } from "./measurement.ts";

const portsOf = (port: number) => [{ port, protocol: "TCP", nodePort: 22_000 + port }];

export async function traceOfFairlead(): Promise<readonly Change[]> {
  const h = new RancherWorld(3);
  const { world, cloud } = h;
  const measurement = new Measurement(cloud);
  await h.start("service");
  await world.pass(60);

  /** The time ends with the change; the requests include another half minute. */
  const measure = async (name: string, change: () => void, isComplete: () => boolean) => {
    measurement.begin(name);
    const began = world.clock.monotonic();
    change();
    while (!isComplete()) {
      if (world.clock.monotonic() - began > 60_000) throw new Error(`Timed out waiting for ${name}.`);
      await world.pass(0.02);
    }
    const took = world.clock.monotonic() - began;
    await world.pass(30);
    measurement.begin("", took);
  };
  const hasAddress = () => world.addressesOf("web").length > 0;
  const isActive = () => h.balancers[0]?.state === "active";
  const forwards = (port: number, nodes: number) =>
    isActive() && h.rules.length === nodes && h.rules.every((rule) => rule.startsWith(`${port} -> node-`));

  await measure("create", () => world.create("web", { spec: { ports: portsOf(8080) as never } }), hasAddress);
  await measure(
    "node added",
    () => h.addNode("node-3"),
    () => forwards(8080, 4),
  );
  await measure(
    "port changed",
    () => world.editSpec("web", { ports: portsOf(8443) as never }),
    () => forwards(8443, 4),
  );
  await measure(
    "delete",
    () => world.delete("web"),
    () => world.services().length === 0,
  );
  await world.stop();
  return measurement.changes;
}
