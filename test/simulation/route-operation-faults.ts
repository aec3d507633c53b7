// How the operations of a cloud with slow route changes fail, within the limits of the design: they fail, have no effect, take
// long, are forgotten, or cannot be checked; and the session of the leader ends in the meantime. A late effect comes less than
// the confirmation time after the cloud forgot the operation, or after the next session began.

import { milliseconds } from "../../src/core/brand.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { Course } from "./route-operations.ts";
import type { World } from "./world.ts";

export const routeOperationFaults = (world: World, dice: Dice): DisruptionSource => {
  const { clock, history } = world;
  const cloud = world.variants.routeOperations;
  if (cloud === undefined) return { disruptions: [], stop: () => undefined };
  let joined = 0;
  const between = (min: number, max: number): number => Math.round(dice.between(min, max));
  const later = (min: number, max: number, work: () => void): void => {
    clock.after(milliseconds(between(min, max)), work);
  };

  /** A Node joins, so that there is a next operation. The Node often leaves later. */
  const join = (): void => {
    const name = `joins-${joined++}`;
    world.addNode(name);
    if (dice.chance(0.5)) return;
    later(60_000, 400_000, () => {
      world.removeMachine(name);
      world.deleteNode(name);
    });
  };
  const next = (course: Course): void => {
    history.log(`cloud: the next operation: ${JSON.stringify(course)}`);
    cloud.next.push(course);
    join();
  };
  const forget = (): void => {
    const forgottenAfter = dice.chance(0.4) ? between(0, 10_000) : between(35_000, 100_000);
    const ends = dice.chance(0.6) ? "done" : "without effect";
    next({ takes: forgottenAfter + between(1_000, 18_000), ends, forgottenAfter });
  };
  /** The leader is lost while the cloud works. If it is the only replica, it leads again. */
  const cutOff = (): void => {
    next({ takes: between(10_000, 40_000), ends: "done" });
    later(3_000, 12_000, () => {
      const { leader } = world;
      if (leader === undefined) return;
      if (dice.chance(0.3)) {
        world.killReplica(leader);
        later(0, 10_000, () => world.startReplica());
        return;
      }
      const pause = between(12_000, 25_000);
      history.log(`${leader.name} is paused for ${pause / 1000} s`);
      leader.process.pause();
      clock.after(milliseconds(pause), () => leader.process.resume("timer"));
    });
  };
  const failChecks = (): void => {
    const planned = {
      kind: dice.pick(["status", "reset", "hang", "cut", "slow"] as const) ?? "status",
      operation: "GET /operations",
      status: dice.pick([403, 429, 500, 503]) ?? 500,
      calls: dice.count(1, 8),
      milliseconds: dice.count(100, 40_000),
    };
    history.log(`cloud: ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
    join();
  };

  return {
    disruptions: [
      { weight: 2, apply: () => next({ takes: between(500, 15_000), ends: "failed" }) },
      { weight: 2, apply: () => next({ takes: between(500, 15_000), ends: "without effect" }) },
      { weight: 2, apply: () => next({ takes: between(20_000, 240_000), ends: "done" }) },
      { weight: 5, apply: forget },
      { weight: 5, apply: cutOff },
      { weight: 2, apply: failChecks },
    ],
    stop: () => {
      cloud.next.length = 0;
    },
  };
};
