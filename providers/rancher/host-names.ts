// Under which names the kubelet of a host may register. Pure.

/** For a Node with any domain, unless the domains are configured. A name that two hosts have is ambiguous either way. */
export function shortNameOf(
  hostname: string | null | undefined,
  domains: readonly string[],
): string | undefined {
  const name = hostname?.toLowerCase();
  return domains.length > 0 || !name || name.includes(".") ? undefined : name;
}

/** The names of each host, by id: an exact name takes precedence over the first label of another host's name. */
export function namesOfHosts(
  hosts: readonly { readonly id: string; readonly hostname?: string | null }[],
  domains: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const exact = new Set(hosts.map(({ hostname }) => hostname?.toLowerCase()));
  return new Map(
    hosts.map(({ id, hostname }) => {
      const name = hostname?.toLowerCase();
      if (name === undefined || name === "") return [id, []];
      const others = aliasesOf(name, domains).filter((alias) => !exact.has(alias));
      return [id, [name, ...others]];
    }),
  );
}

/** A full name is also found by its first label, and a short name with each of the domains. */
function aliasesOf(name: string, domains: readonly string[]): readonly string[] {
  const [label = ""] = name.split(".");
  if (label !== name) return [label];
  return domains.map((domain) => `${name}.${domain.toLowerCase().replace(/^\.+/, "")}`);
}
