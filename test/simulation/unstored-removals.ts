// Machines are lost while the Lease cannot store a removal: its write fails or hangs, and the leader crashes soon afterwards.
// Each leader stays below the mass limits, so only the removals that are stored beforehand can enforce them.

import { shortId } from "../../src/controllers/kernel/removal-text.ts";
import { removalsAnnotation } from "../../src/controllers/well-known.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { FaultOutcome } from "../../src/testing/apiserver/api-server.ts";
import type { RequestInfo } from "../../src/testing/apiserver/http/parse-request.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

const lease = "cloud-controller-manager";

export const unstoredRemovals = (world: World, dice: Dice): DisruptionSource => {
  const { server, clock, history, replicas, cloud } = world;
  let until = 0;
  let crashes = 0;

  /** The leader is about to delete a Node: its removal is in the request, and the Node is still there. */
  const addsRemoval = ({ body }: TransportRequest): boolean => {
    const { metadata }: Partial<KubeObject> = typeof body === "string" ? JSON.parse(body) : {};
    const [stored, added] = [server.store.get("leases", "kube-system", lease)?.metadata, metadata].map(
      (each) => each?.annotations?.[removalsAnnotation] ?? "",
    );
    return server.store.list("nodes").some(({ metadata: { uid } }) => {
      const id = shortId(uid);
      return added?.includes(id) === true && stored?.includes(id) === false;
    });
  };
  const crash = (): void => {
    const { leader } = world;
    if (leader === undefined || crashes === 0) return;
    crashes -= 1;
    clock.after(milliseconds(Math.round(dice.between(200, 3_000))), () => {
      if (replicas.includes(leader)) world.killReplica(leader);
      if (replicas.length < world.replicaCount) world.startReplica();
    });
  };
  const faultFor = (request: TransportRequest, { plural, verb, name }: RequestInfo): FaultOutcome => {
    if (clock.monotonic() > until || plural !== "leases" || name !== lease || verb !== "update")
      return undefined;
    if (!addsRemoval(request)) return undefined;
    crash();
    return dice.chance(0.7) ? "hang" : "drop";
  };
  const { intercept } = server.faults;
  server.faults.intercept = (request, info) => intercept?.(request, info) ?? faultFor(request, info);

  const lose = (): void => {
    if (clock.monotonic() < until) return;
    const duration = Math.round(dice.between(200_000, 500_000));
    history.log(`api server: stores no removal on the Lease for ${duration / 1000} s`);
    until = clock.monotonic() + duration;
    crashes = dice.count(2, 5);
    let at = 0;
    for (const { name } of dice.some(cloud.machines.list(), dice.count(4, 6))) {
      at += dice.between(1_000, 60_000);
      clock.after(milliseconds(Math.round(at)), () => world.removeMachine(name));
    }
  };
  return {
    disruptions: [{ weight: 2, apply: lose }],
    stop: () => {
      until = 0;
    },
  };
};
