// A ring buffer of recent changes: the change, its reason, and its result. It shows who changed a Node
// without audit logs.

export interface JournalEntry {
  /** Wall-clock time. */
  readonly at: number;
  readonly target: "cloud" | "cluster";
  /** The step of the plan or the request: `create load balancer`, `PATCH nodes/status`. */
  readonly action: string;
  /** The object that was changed: `node/worker-1`, `service/default/web`. */
  readonly object: string;
  readonly why: string;
  readonly outcome: "done" | "refused" | "failed" | "observed";
  readonly detail?: string;
  readonly requestID?: string;
  readonly durationMs?: number;
}

/**
 * Describes the change. For a planned patch it contains the values, because the paths depend on what other writers have added.
 */
export function describeChange({
  action,
  detail,
  outcome,
}: Pick<JournalEntry, "action" | "detail" | "outcome">): string {
  const [kind = action] = action.split(": ");
  return outcome !== "observed" || detail === undefined ? action : `${kind}: ${detail}`;
}

export class Journal {
  readonly #entries: JournalEntry[] = [];
  readonly #capacity: number;
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  #next = 0;

  constructor(capacity = 1000) {
    this.#capacity = capacity;
  }

  record(entry: JournalEntry): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#capacity;
    for (const listener of this.#listeners) listener(entry);
  }

  /** Oldest first. */
  entries(): readonly JournalEntry[] {
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }

  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
