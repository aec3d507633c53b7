// When a process began, in ticks since the machine's start, as the kernel tells it: together with the id it names one process
// for good. Undefined where there is none, where it has ended unread, or where there is no /proc.

import { readFileSync } from "node:fs";

export const processStart = (pid: number): string | undefined => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
};
