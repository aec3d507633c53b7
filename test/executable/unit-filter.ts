// The system calls that the shipped unit leaves to the process, by systemd's own word, and a command that refuses all
// others, as the unit does. Nothing where systemd or strace is not there.

const said = (...command: readonly string[]): string | undefined => {
  try {
    const { exitCode, stdout } = Bun.spawnSync([...command]);
    return exitCode === 0 ? stdout.toString() : undefined;
  } catch {
    return undefined;
  }
};

/** Groups begin with their name in the first column; what they hold is indented, and may be a group. */
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
  ...new Set(callsOf(readGroups(said("systemd-analyze", "syscall-filter") ?? ""), "@system-service")),
];

/** Runs what follows, and writes into the file each call that was refused, and how the process ended. */
export const underUnitFilter = (file: string): readonly string[] => {
  // A name that this architecture lacks is no mistake: the question mark says so.
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

export const canFilter = allowed.length > 0 && said("strace", "-V") !== undefined;
