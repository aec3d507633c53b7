// Reads the shared files of AWS's SDKs, ~/.aws/credentials and ~/.aws/config: profiles with keys and values. Pure.

/** A profile's keys and values. */
export type Profile = Readonly<Record<string, string>>;

/** The profiles of both files by name. Values of the file with access keys take precedence. */
export function readProfiles(credentials: string, config: string): ReadonlyMap<string, Profile> {
  const profiles = new Map<string, Record<string, string>>();
  const read = (text: string, nameOf: (header: string) => string | undefined) => {
    let values: Record<string, string> | undefined;
    for (const line of text.split(/\r?\n/)) {
      const header = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1];
      if (header !== undefined) {
        const name = nameOf(header);
        values = name === undefined ? undefined : (profiles.get(name) ?? {});
        if (name !== undefined && values !== undefined) profiles.set(name, values);
        continue;
      }
      // Indented lines are nested values of the preceding key. Fairlead needs none of them.
      const [, key, value = ""] = /^([\w.-]+)\s*=\s*(.*)$/.exec(line) ?? [];
      if (key !== undefined && values !== undefined)
        values[key.toLowerCase()] = value.replace(/\s+[#;].*$/, "").trim();
    }
  };
  read(config, (header) => (header === "default" ? header : /^profile\s+(.+)$/.exec(header)?.[1]));
  read(credentials, (header) => header);
  return profiles;
}
