// The parts of the cloud, such as regions, in which a group has or may have its load balancer.

const none: readonly string[] = [];

export class Places {
  #seen = none;
  #possible = none;
  #isUnknown = false;

  /** There may be a load balancer in any part: it was created before this process or leadership session observed it. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /** Where to look for it, given the parts that list it. One that is listed is the one that a step may have created. */
  with(listed: readonly string[]): ReadonlySet<string> {
    return new Set([...this.#seen, ...listed, ...(listed.length === 0 ? this.#possible : none)]);
  }

  /** Listings show it in these parts. */
  noteSeen(parts: readonly string[]): void {
    this.#seen = union(this.#seen, parts);
  }

  /** A step may create or change it in these parts. */
  notePossible(parts: readonly string[]): void {
    this.#possible = union(this.#possible, parts);
  }

  /** Listings of all parts where it may be show it in exactly these; in none, if it is certain that it does not exist. */
  replace(parts: readonly string[]): void {
    this.#possible = none;
    this.#isUnknown = false;
    if (parts.length !== this.#seen.length || union(this.#seen, parts) !== this.#seen) this.#seen = parts;
  }

  /** Another process may have created or moved it. */
  forget(): void {
    this.#isUnknown = true;
  }
}

/** The first list if the second adds nothing. */
function union(one: readonly string[], other: readonly string[]): readonly string[] {
  const added = other.filter((part) => !one.includes(part));
  return added.length === 0 ? one : [...one, ...added];
}
