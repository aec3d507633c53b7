// The system calls that the shipped systemd unit allows, and a command that rejects all others. Empty without systemd or
// strace.

const outputOf = (...command: readonly string[]): string | undefined => {
  try {
    const { exitCode, stdout } = Bun.spawnSync([...command]);
    return exitCode === 0 ? stdout.toString() : undefined;
  } catch {
    return undefined;
  }
};

/** A group's name starts in the first column; its members are indented, and may be groups. */
const readGroups = (text: string): ReadonlyMap<string, readonly string[]> => {
  const groups = new Map<string, string[]>();
  let name = "";
  for (const line of text.split("\n")) {
    const word = line.trim();
    if (line.startsWith("@")) name = word;
    else if (word !== "" && !word.startsWith("#")) groups.set(name, [...(groups.get(name) ?? []), word]);
  }
  return groups;
};

const callsOf = (groups: ReadonlyMap<string, readonly string[]>, name: string): readonly string[] =>
  (groups.get(name) ?? []).flatMap((word) => (word.startsWith("@") ? callsOf(groups, word) : [word]));

const allowed = [
  ...new Set(callsOf(readGroups(outputOf("systemd-analyze", "syscall-filter") ?? ""), "@system-service")),
];

/** A command prefix that writes every rejected call, and the exit of the process, into the file. */
export const underUnitFilter = (file: string): readonly string[] => {
  // The question mark allows names that are missing on this architecture.
  const refused = `!${allowed.map((call) => `?${call}`).join(",")}`;
  return [
    "strace",
    "-D",
    "-f",
    "-q",
    "-o",
    file,
    "-e",
    `trace=${refused}`,
    "-e",
    `inject=${refused}:error=EPERM`,
  ];
};

export const canFilter = allowed.length > 0 && outputOf("strace", "-V") !== undefined;
