// The labels of a host that its Node gets. Pure.

export type LabelPrefix = `${string}/`;

const name = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const keyPattern = new RegExp(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?${name}$`);
const valuePattern = new RegExp(`^(${name})?$`);

const isChosen = (key: string, chosen: readonly string[]): boolean =>
  chosen.some((one) => (one.endsWith("*") ? key.startsWith(one.slice(0, -1)) : key === one));

interface NodeLabels {
  readonly labels: Readonly<Record<string, string>>;
  /** Those that Kubernetes does not accept. */
  readonly invalid: readonly string[];
}

/** `chosen` are names, and prefixes that end with `*`. */
export function nodeLabelsOf(
  host: Readonly<Record<string, string>>,
  chosen: readonly string[] | undefined,
): NodeLabels {
  const wanted = Object.entries(host).filter(([key]) => isChosen(key, chosen ?? []));
  const isValid = ([key, value]: readonly [string, string]) =>
    keyPattern.test(key) && valuePattern.test(value);
  return {
    labels: Object.fromEntries(wanted.filter(isValid)),
    invalid: wanted.filter((one) => !isValid(one)).map(([key]) => key),
  };
}

/** Labels with these prefixes change with the host. */
export function labelPrefixes(chosen: readonly string[] | undefined): readonly LabelPrefix[] {
  const prefixes = (chosen ?? []).flatMap((one) => /^[^*]+\//.exec(one)?.[0] ?? []);
  return [...new Set(prefixes)] as readonly string[] as readonly LabelPrefix[];
}
