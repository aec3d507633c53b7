// The API server is restored from a backup that is seconds old: objects have older content and lower versions, and every stream ends.

import { massDeletionReason } from "../../src/controllers/node-lifecycle/texts.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

/** The number of attempts to use a backup. */
const attempts = 6;

export const restoredServer = (world: World, dice: Dice): DisruptionSource => {
  const { server, clock, history, replicas } = world;
  let isOver = false;

  /**
   * The parts that must be the same. vanishing-objects.ts covers objects that appear or vanish, and a new leader has another
   * Lease.
   */
  const skeleton = (): string => {
    const lease = server.store.get("leases", "kube-system", "cloud-controller-manager");
    return JSON.stringify([
      lease?.spec?.["holderIdentity"],
      lease?.metadata.annotations,
      // A hold is reported once. A server that loses the event loses the report.
      server.store.list("events").filter((event) => event["reason"] === massDeletionReason).length,
      ["nodes", "services", "persistentvolumeclaims", "persistentvolumes", "volumeattachments"].map(
        (plural) => server.store.list(plural).map(essenceOf),
      ),
    ]);
  };
  const restoreSoon = (left: number): void => {
    const restore = server.store.backup();
    const before = skeleton();
    const revision = server.store.revision;
    clock.after(milliseconds(Math.round(dice.between(1_000, 20_000))), () => {
      // A later restore would undo the users' final reverts.
      if (isOver) return;
      if (skeleton() !== before) {
        if (left > 1) restoreSoon(left - 1);
        return;
      }
      history.log(`api server: restored from revision ${server.store.revision} to ${revision}`);
      const renewed = renewalOf(world);
      restore();
      if (renewalOf(world) !== renewed) world.renewalUndoneAt = clock.monotonic();
      for (const { kube } of replicas) kube.cutStreams();
    });
  };
  return {
    disruptions: [{ weight: 3, apply: () => restoreSoon(attempts) }],
    stop: () => {
      isOver = true;
    },
  };
};

const renewalOf = ({ server }: World): unknown =>
  server.store.get("leases", "kube-system", "cloud-controller-manager")?.spec?.["renewTime"];

/** The state that the checks derive from the writes that they see, because a restore makes no writes. */
const essenceOf = ({ metadata, spec }: KubeObject): unknown => [
  metadata.uid,
  metadata.deletionTimestamp,
  metadata.finalizers,
  spec?.["type"],
  spec?.["loadBalancerClass"],
  spec?.["providerID"],
  spec?.["podCIDR"],
];
