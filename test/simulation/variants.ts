// The options of a run in addition to its seed: more parts of the cluster or of the cloud, with their faults. A run without a
// variant uses no random number for it, so its seed behaves as it did before the variant existed.

export const variants = [
  { name: "volumes", what: "claims, pods and the volume controller" },
  { name: "lookups", what: "a cloud that is asked for single load balancers, and lies then too" },
  { name: "stops", what: "the taint out-of-service, and a cloud that shows running machines as stopped" },
  { name: "operations", what: "a cloud that works on changes of routes for a while, and lies about that" },
] as const;

type Variant = (typeof variants)[number]["name"];

/** The variants that a run combines. */
export type Variants = { readonly [name in Variant]?: boolean | undefined };

/** A run as one line for a seed worker: "7" or "7 volumes". */
export const toLine = (seed: number, chosen: Variants): string =>
  [seed, ...variants.flatMap(({ name }) => (chosen[name] === true ? name : []))].join(" ");

export const fromLine = (line: string): Variants & { readonly seed: number } => {
  const [seed, ...names] = line.split(" ");
  return { seed: Number(seed), ...Object.fromEntries(names.map((name) => [name, true])) };
};
