// external-provisioner, -attacher, -resizer and -snapshotter with `csi-controller`, compared with the volume controller in the
// same scenarios: every difference must be a row of docs/volumes.md. Runs with `npm run test:clients -- fake/sidecars`.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { keepLoopbackDirect } from "../../../../src/platform/environment.ts";
import { until } from "../../../cluster/rig/until.ts";
import {
  type Difference,
  describe as describeDifference,
  differencesOf,
  judge,
  type States,
} from "../../../differential/rig/compare-states.ts";
import { writesOf } from "../../../differential/rig/planes.ts";
import { nameOfStep, play } from "../../../differential/rig/play.ts";
import type { Explained, Scenario } from "../../../differential/rig/scenario.ts";
import { scenarios as volumeScenarios } from "./scenarios.ts";
import { snapshotScenarios } from "./snapshot-scenarios.ts";
import { type Program, Stage } from "./stage.ts";

keepLoopbackDirect();
const scenarios = [...volumeScenarios, ...snapshotScenarios];
const page = await Bun.file(join(import.meta.dir, "../../../../docs/volumes.md")).text();

/** The explanations, each with a row of the table in docs/volumes.md. */
function explanationsOf({ explained = [] }: Scenario<Stage>): readonly Explained[] {
  const all = [
    ...explained,
    { at: "PersistentVolume *: event Normal VolumeDeleted", row: "V12", isSometimes: true as const },
  ];
  for (const { row } of all)
    if (!page.includes(`\n| ${row} |`)) throw new Error(`docs/volumes.md has no row ${row}.`);
  return all;
}

function scenarioOf({ at }: Difference): Scenario<Stage> | undefined {
  const [, name = ""] = /^(?:Persistent\w+|Volume\w+|cloud \w+|scenario) (?:\w+-of-)?([\w-]+)/.exec(at) ?? [];
  const found = scenarios.filter((scenario) => name.startsWith(scenario.name));
  return found.toSorted((one, other) => other.name.length - one.name.length)[0];
}

function unexplainedIn(sides: readonly States[]): readonly Difference[] {
  const [upstream, fairlead] = sides as [States, States];
  return differencesOf(upstream, fairlead).filter((one) => {
    const scenario = scenarioOf(one);
    const known = scenario === undefined ? [] : explanationsOf(scenario);
    return judge([one], known).unexplained.length > 0;
  });
}

describe("the sidecars and the volume controller", () => {
  let sides: readonly Stage[] = [];
  let states: readonly States[] = [];
  beforeAll(async () => {
    sides = await Promise.all([Stage.open(), Stage.open()]);
    sides[0]?.start("sidecars");
    sides[1]?.start("volume controller");
    states = await play(sides, scenarios, (played, index) =>
      unexplainedIn(played).every(({ after }) => after !== nameOfStep(index)),
    );
  }, 1_200_000);
  afterAll(async () => {
    await Promise.all(sides.map((side) => side[Symbol.asyncDispose]()));
  });

  for (const scenario of scenarios)
    test(`${scenario.title} like the sidecars, or as documented`, () => {
      const [upstream = new Map(), fairlead = new Map()] = states;
      const own = differencesOf(upstream, fairlead).filter((one) => scenarioOf(one) === scenario);
      const { unexplained, missing } = judge(own, explanationsOf(scenario));
      expect(unexplained.map(describeDifference)).toEqual([]);
      expect(missing).toEqual([]);
    });

  test.each([
    ["the volume controller", "the sidecars", 0, ["volume controller", "sidecars"]],
    ["the sidecars", "the volume controller", 1, ["sidecars", "volume controller"]],
  ] as const)("%s takes over from %s and back without a write or a change", async (_, __, side, programs) => {
    const stage = sides[side];
    if (stage === undefined) throw new Error("There is no such side.");
    for (const [turn, program] of programs.entries())
      expect(await takeOver(stage, program, `turn-${turn}`)).toEqual({ calls: [], writes: [] });
  });

  test("every documented difference belongs to a scenario", () => {
    const [upstream = new Map(), fairlead = new Map()] = states;
    const outside = differencesOf(upstream, fairlead).filter((one) => scenarioOf(one) === undefined);
    expect(outside.map(describeDifference)).toEqual([]);
  });
});

/**
 * What a program does to existing objects when it takes over. It has taken over when it has created,
 * attached and expanded a volume and created a snapshot of it.
 */
async function takeOver(stage: Stage, program: Program, claim: string) {
  await stage.stop();
  await stage.state();
  const { claims, volumes, attachments } = stage.seen;
  const { snapshots, contents } = stage.snapshots;
  const atRest = [...claims, ...volumes, ...attachments, ...snapshots, ...contents];
  const inCloud = [...stage.cloud.volumes.list(), ...stage.cloud.snapshots.list()];
  const names = new Set([...atRest.map(({ metadata }) => metadata.name), ...inCloud.map(({ name }) => name)]);
  const plane = { kubeconfig: stage.plane.kubeconfig, audit: stage.plane.auditLog };
  const [calls, writes] = [stage.calls.length, writesOf(plane).length];
  stage.start(program);
  await stage.createClaim(claim, "fake");
  const untilDone = (what: string, isDone: () => boolean) =>
    until(
      `${program}: the volume of ${claim} to be ${what}`,
      async () => {
        await stage.state();
        return isDone();
      },
      { explain: () => stage.log() },
    );
  await untilDone("bound", () => stage.claim(claim)?.status?.phase === "Bound");
  await stage.snapshots.create(claim, { class: "fake" });
  await untilDone("in a snapshot", () => stage.snapshots.find(claim)?.status?.readyToUse === true);
  await stage.createPod(claim, stage.nodeFor(claim));
  await stage.editClaim(claim, { spec: { resources: { requests: { storage: "3Gi" } } } });
  await untilDone("attached", () => stage.attachmentOf(claim)?.status?.attached === true);
  const pending = "FileSystemResizePending";
  await untilDone(
    "expanded",
    () => stage.claim(claim)?.status?.conditions?.some(({ type }) => type === pending) === true,
  );
  return {
    calls: stage.calls.slice(calls).filter(({ name }) => names.has(name)),
    writes: writesOf(plane)
      .slice(writes)
      .filter(
        (line) => /^(?:create|update|patch|delete) /.test(line) && names.has(line.split(" ").at(-1) ?? ""),
      )
      // Volumes that a user created get their topology: V5.
      .filter((line) => !/^patch persistentvolumes full-\d$/.test(line)),
  };
}
