// The Node service in a process that is killed at one position: before a program, while it runs, or afterwards. Started
// by real-disks.client.ts.

import { readFileSync } from "node:fs";
import { volumeDriver } from "../../../providers/fake/volumes.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { type NodeCall, nodeOf, runCall } from "./real-node.ts";

const [device = "", call = "", position = "", moment = ""] = process.argv.slice(2);
let count = 0;

const die = (): Promise<never> => {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => undefined);
};

const run: typeof systemFiles.run = async (command, env, signal, descriptor) => {
  const isHere = count === Number(position);
  count += 1;
  if (!isHere) return systemFiles.run(command, env, signal, descriptor);
  if (moment === "before") return die();
  if (moment === "after") {
    await systemFiles.run(command, env, signal, descriptor);
    return die();
  }
  // The program continues without this process, or is killed with it.
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "ignore", "ignore", ...(descriptor === undefined ? [] : [descriptor])],
    detached: true,
  });
  if (moment === "cut") {
    while (child.exitCode === null && writtenBy(child.pid) < 4096) await Bun.sleep(0);
    if (child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  }
  return die();
};

/** The output of the program below `flock`. */
function writtenBy(flock: number): number {
  try {
    const [pid] = readFileSync(`/proc/${flock}/task/${flock}/children`, "utf8").split(" ");
    return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0);
  } catch {
    // The program has not started yet, or has ended.
    return 0;
  }
}

const node = nodeOf({ ...volumeDriver, devicePathsOf: () => [device] }, { ...systemFiles, run });
await runCall(node, JSON.parse(call) as NodeCall);
process.stdout.write(`ended after ${count} programs\n`);
