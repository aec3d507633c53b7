// `npm run bad-day`: emergencies on a real control plane with a simulated Hetzner project, and what an operator sees.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { startControlPlane } from "../test/cluster/rig/control-plane.ts";
import { type Emergency, emergencies } from "./bad-day/emergencies.ts";
import { Scene, type Surface, surfaces } from "./bad-day/scene.ts";
import { commandLine, fail } from "./command-line.ts";
import { buildInto } from "./test-runs.ts";

const names = emergencies.map(({ name }) => name).join(", ");

const usage = `Usage: npm run bad-day -- [part of a name]... [--out <folder>]

Prepares emergencies one by one on a control plane from $KUBEBUILDER_ASSETS. Each runs until the log, the events, explain, the status page
and doctor show its cause; then it is ended, and everything must converge with nothing lost. What an operator would see is written to a
folder. It exits with 1 if a surface does not show a cause, or something was lost.

The emergencies: ${names}.
`;

const { values, positionals } = commandLine(usage, { out: { type: "string" } }, Number.POSITIVE_INFINITY);
const chosen = emergencies.filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);
if (chosen.length === 0) fail(`No emergency has ${positionals.join(" or ")} in its name.`, usage);
if ((process.env["KUBEBUILDER_ASSETS"] ?? "") === "") fail("KUBEBUILDER_ASSETS is not set.", usage);
keepLoopbackDirect();

/** The time within which a cause must be visible. */
const patienceSeconds = 60;

interface Result {
  /** The time at which each surface first showed the cause, in seconds; undefined if it did not. */
  readonly shown: Readonly<Partial<Record<Surface, number>>>;
  readonly recoveredSeconds: number | undefined;
  readonly lost: readonly string[];
}

async function observe(scene: Scene, { shows }: Emergency, folder: string): Promise<Result["shown"]> {
  const shown: Partial<Record<Surface, number>> = {};
  const missing = (): readonly Surface[] =>
    surfaces.filter((surface) => shows[surface] !== undefined && shown[surface] === undefined);
  for (;;) {
    for (const surface of missing()) {
      const isShown = shows[surface]?.test(await scene.look(surface)) ?? false;
      if (isShown) shown[surface] = scene.elapsedSeconds;
    }
    if (missing().length === 0 || scene.elapsedSeconds > patienceSeconds) break;
    await Bun.sleep(1000);
  }
  for (const surface of surfaces) writeFileSync(join(folder, `${surface}.txt`), await scene.look(surface));
  return shown;
}

async function run(scene: Scene, emergency: Emergency, folder: string): Promise<Result> {
  if (emergency.coldStart !== true) {
    scene.start();
    await scene.settle();
  }
  const before = await scene.belongings();
  scene.begin();
  await emergency.begin(scene);
  const shown = await observe(scene, emergency, folder);
  const during = await scene.belongings();
  const since = performance.now();
  await emergency.remedy(scene);
  const recovered = await scene.settle().then(
    () => (performance.now() - since) / 1000,
    (error: unknown) => {
      writeFileSync(join(folder, "recovery.txt"), String(error));
      return undefined;
    },
  );
  writeFileSync(join(folder, "log-after.txt"), await scene.look("log"));
  const after = await scene.belongings();
  const lost = before.filter((each) => !during.includes(each) || !after.includes(each));
  return { shown, recoveredSeconds: recovered, lost };
}

function resultText({ name, what, shows }: Emergency, { shown, recoveredSeconds, lost }: Result): string {
  const seen = surfaces
    .filter((surface) => shows[surface] !== undefined)
    .map(
      (surface) =>
        `${surface} ${shown[surface] === undefined ? "NOT SHOWN" : `${shown[surface]?.toFixed(0)} s`}`,
    );
  const recovery =
    recoveredSeconds === undefined ? "DID NOT RECOVER" : `recovered in ${recoveredSeconds.toFixed(0)} s`;
  const loss = lost.length === 0 ? "nothing lost" : `LOST ${lost.join(", ")}`;
  return `${name}: ${what}\n  ${seen.join(", ")}\n  ${recovery}, ${loss}\n`;
}

const isGood = ({ shows }: Emergency, { shown, recoveredSeconds, lost }: Result): boolean =>
  surfaces.every((surface) => shows[surface] === undefined || shown[surface] !== undefined) &&
  recoveredSeconds !== undefined &&
  lost.length === 0;

const out = values.out ?? mkdtempSync(join(tmpdir(), "fairlead-bad-day-"));
mkdirSync(out, { recursive: true });
const plane = await startControlPlane();
let failed = 0;
try {
  const executable = buildInto(plane.folder, "hetzner");
  for (const emergency of chosen) {
    const folder = join(out, emergency.name);
    mkdirSync(folder, { recursive: true });
    await using scene = await Scene.open(plane, executable);
    try {
      const result = await run(scene, emergency, folder);
      if (!isGood(emergency, result)) failed += 1;
      process.stdout.write(resultText(emergency, result));
    } catch (error) {
      failed += 1;
      process.stdout.write(`${emergency.name}: could not be prepared: ${String(error)}\n`);
    }
  }
  process.stdout.write(
    `${chosen.length - failed} of ${chosen.length} emergencies were clear; what was shown: ${out}\n`,
  );
} finally {
  await plane.stop();
}
process.exit(failed === 0 ? 0 : 1);
