// What a process holds in memory at this moment, and whose it is: its own, or pages of its executable that the kernel can
// drop at any time and that all its processes share. From the text of /proc/PID/smaps; pure.

export interface ResidentMemory {
  readonly totalMiB: number;
  /** Belongs to nothing but this process: what a limit on memory is about. */
  readonly ownMiB: number;
  /** Unchanged pages of the executable. */
  readonly executableMiB: number;
}

const mapping = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)$/;
const figure = /^(Rss|Anonymous):\s+(\d+) kB$/;

export function readResidentMemory(smaps: string, executable: string): ResidentMemory {
  const kilobytes = { Rss: 0, Anonymous: 0, executable: 0 };
  let isExecutable = false;
  for (const line of smaps.split("\n")) {
    const [, path] = mapping.exec(line) ?? [];
    if (path !== undefined) isExecutable = path === executable;
    const [, name, value] = figure.exec(line) ?? [];
    if (name !== "Rss" && name !== "Anonymous") continue;
    const size = Number(value);
    kilobytes[name] += size;
    if (isExecutable) kilobytes.executable += name === "Rss" ? size : -size;
  }
  return {
    totalMiB: kilobytes.Rss / 1024,
    ownMiB: kilobytes.Anonymous / 1024,
    executableMiB: kilobytes.executable / 1024,
  };
}
