// Outlives the one who started it just long enough to clear up: what stands on its standard input is ended and removed once
// that closes. A process is ended only while it still has the start time that was written down with its id.

import { rmSync } from "node:fs";
import { processStart } from "./process-start.ts";

const kept = new Map<string, string>();
const folders: string[] = [];

// A terminal's Ctrl-C is for the one who started us; we end when it has ended.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);

for await (const line of console) {
  const [word, value = "", start = ""] = line.split(" ");
  if (word === "keep") kept.set(value, start);
  else if (word === "folder") folders.push(line.slice("folder ".length));
  else if (word === "forget") kept.delete(value);
}
// The last one started is the first to go: an API server goes before its etcd.
for (const [pid, start] of [...kept].reverse()) {
  if (processStart(Number(pid)) === start) process.kill(Number(pid), "SIGKILL");
}
for (const folder of folders) rmSync(folder, { recursive: true, force: true });
process.exit(0);
