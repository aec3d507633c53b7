// Reads the resident memory of a process from the text of /proc/PID/smaps: private memory, and pages of its executable, which
// the kernel can drop and which all its processes share. Pure.

export interface ResidentMemory {
  readonly totalMiB: number;
  /** Private memory of the process, which a memory limit restricts. */
  readonly ownMiB: number;
  /** Unmodified pages of the executable. */
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
