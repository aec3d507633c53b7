// The start time of a process in clock ticks since boot; together with the process id it identifies a process. Undefined if
// the process does not run, or without /proc.

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
