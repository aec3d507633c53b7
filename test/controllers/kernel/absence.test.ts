import { afterEach, describe, expect, test } from "bun:test";
import { type AbsenceKind, type AbsenceWorld, absenceKinds } from "./kinds.ts";

// What the cloud shows and hides, and the consequences, as one table for Nodes, load balancers and routes. Of 20 objects, at most
// four are removed or recreated within ten minutes; a proof takes 30 s.

/** The event, and how many objects have been removed or recreated by then. */
type Step = readonly [
  happens: (world: AbsenceWorld, kind: AbsenceKind) => void | Promise<void>,
  passes: number,
  acted: number,
];

const hide =
  (count: number) =>
  (world: AbsenceWorld): void => {
    world.hide(count);
    world.check();
  };
const check = (world: AbsenceWorld): void => world.check();
const handOver = (world: AbsenceWorld): Promise<void> => world.handOver();
const nothing = (): void => undefined;
const fail = (isFailing: boolean) => (world: AbsenceWorld) => world.fail(isFailing);
const release = ({ removals }: AbsenceWorld, { kind }: AbsenceKind): void => void removals.release(kind);
const isHeld =
  (count: number) =>
  ({ removals }: AbsenceWorld, { kind }: AbsenceKind): void =>
    expect(removals.held(kind)).toHaveLength(count);
/** The cloud shows all objects except these, and the hold ends with the next answer. */
const recoverTo =
  (count: number) =>
  async (world: AbsenceWorld, { kind }: AbsenceKind) => {
    hide(count)(world);
    for (let time = 0; world.removals.held(kind).length > 0; time += 1) {
      if (time > 120) throw new Error("The hold does not end.");
      await world.pass(1);
    }
  };
const breakStore = ({ removals }: AbsenceWorld): void =>
  removals.storeWith({
    store: () => Promise.reject(new Error("The Lease cannot be written.")),
    howToRelease: () => "",
  });

const sequences: readonly (readonly [string, readonly Step[]])[] = [
  [
    "keeps objects that a single answer lacks",
    [
      [hide(2), 10, 0],
      [hide(0), 600, 0],
    ],
  ],
  [
    "acts on two answers that lack an object 30 s apart",
    [
      [hide(2), 25, 0],
      [check, 45, 2],
    ],
  ],
  ["needs no other change to request the second answer", [[hide(2), 90, 2]]],
  [
    "starts the proof again when an answer shows the object in between",
    [
      [hide(2), 20, 0],
      [hide(0), 11, 0],
      [hide(2), 25, 0],
      [nothing, 40, 2],
    ],
  ],
  [
    "does not treat a failure as an answer",
    [
      [hide(2), 5, 0],
      [fail(true), 300, 0],
      [fail(false), 400, 2],
    ],
  ],
  [
    "holds everything when too many objects are absent, and acts on none when they are shown again [F22 N1]",
    [
      [hide(20), 400, 0],
      [isHeld(20), 0, 0],
      [hide(0), 120, 0],
      [isHeld(0), 0, 0],
    ],
  ],
  // The cloud recovers step by step, and these objects may be the last.
  [
    "starts the proof of the remaining objects again when the end of a hold shows the others",
    [
      [hide(20), 400, 0],
      [recoverTo(3), 25, 0],
      [hide(0), 600, 0],
    ],
  ],
  [
    "acts on the remaining objects when they stay absent after a hold",
    [
      [hide(20), 400, 0],
      [recoverTo(3), 90, 3],
    ],
  ],
  [
    "acts on as many objects as the limit allows, without another hold in between",
    [
      [hide(5), 300, 0],
      [isHeld(5), 0, 0],
      [recoverTo(4), 25, 0],
      [nothing, 90, 4],
    ],
  ],
  [
    "acts on held objects once they are released",
    [
      [hide(20), 400, 0],
      [release, 60, 20],
    ],
  ],
  [
    "does not treat two answers as a proof when other answers show the object in between",
    [
      [hide(2), 20, 0],
      [hide(0), 10, 0],
      [hide(2), 20, 0],
      [hide(0), 10, 0],
      [hide(2), 20, 0],
      [hide(0), 120, 0],
    ],
  ],
  [
    "starts the proof again after each of two holds",
    [
      [hide(20), 400, 0],
      [recoverTo(3), 15, 0],
      [hide(20), 120, 0],
      [recoverTo(3), 25, 0],
      [hide(0), 600, 0],
    ],
  ],
  [
    "starts the proof again when another leadership session begins",
    [
      [hide(2), 20, 0],
      [handOver, 25, 0],
      [nothing, 90, 2],
    ],
  ],
  [
    "keeps objects that an answer lacks before another leadership session, and shows in that session",
    [
      [hide(2), 20, 0],
      [handOver, 10, 0],
      [hide(0), 600, 0],
    ],
  ],
  [
    "holds everything again when another leadership session begins during a hold",
    [
      [hide(20), 400, 0],
      [handOver, 400, 0],
      [isHeld(20), 0, 0],
      [hide(0), 120, 0],
      [isHeld(0), 0, 0],
    ],
  ],
  [
    "does not release objects in advance that are held later",
    [
      [hide(20), 400, 0],
      [recoverTo(0), 60, 0],
      [release, 5, 0],
      [hide(20), 400, 0],
      [isHeld(20), 0, 0],
    ],
  ],
  [
    "releases only the objects that are held at that moment",
    [
      [hide(5), 300, 0],
      [release, 60, 5],
      [hide(20), 400, 5],
    ],
  ],
  [
    "acts on no object whose removal could not be stored",
    [
      [breakStore, 0, 0],
      [hide(2), 300, 0],
    ],
  ],
];

describe.each(absenceKinds)("the absence of $kind", (kind) => {
  let world: AbsenceWorld | undefined;
  afterEach(async () => {
    await world?.stop();
    world = undefined;
  });

  test.each(sequences)("%s", async (_, steps) => {
    const w = await kind.start(20);
    world = w;
    for (const [happens, passes, acted] of steps) {
      await happens(w, kind);
      await w.pass(passes);
      expect(w.acted()).toBe(acted);
    }
  });

  test("a proof of absence takes 30 s from the first slow answer to the start of the next request", async () => {
    const w = await kind.start(20);
    world = w;
    w.slow(29);
    hide(2)(w);
    await w.pass(30);
    // A request that begins now may see almost the same moment as the first one.
    w.check();
    await w.pass(58);
    expect(w.acted()).toBe(0);
    await w.pass(120);
    expect(w.acted()).toBe(2);
  });
});
