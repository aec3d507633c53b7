// A helper process that outlives its parent just long enough to clean up: it kills the processes and removes the folders that
// it received on standard input. A process is killed only if it still has the recorded start time.

import { rmSync } from "node:fs";
import { processStart } from "./process-start.ts";

const kept = new Map<string, string>();
const folders: string[] = [];

// Ctrl-C is for the parent; this process exits after the parent.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);

for await (const line of console) {
  const [word, value = "", start = ""] = line.split(" ");
  if (word === "keep") kept.set(value, start);
  else if (word === "folder") folders.push(line.slice("folder ".length));
  else if (word === "forget") kept.delete(value);
}
// In reverse order, so that an API server is killed before its etcd.
for (const [pid, start] of [...kept].reverse()) {
  if (processStart(Number(pid)) === start) process.kill(Number(pid), "SIGKILL");
}
for (const folder of folders) rmSync(folder, { recursive: true, force: true });
process.exit(0);
