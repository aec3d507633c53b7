// Actions: the work that a change starts. An action changes the resource only when it ends, after its time. Until then it
// locks the resources that it changes. There are no timers: `settle` completes due actions.

import type { Milliseconds } from "#ccm";
import type { Clock, Ids } from "#ccm/testing";
import type { ResourceRef, ResourceType } from "../base/collection.ts";

interface ActionError {
  readonly code: string;
  readonly message: string;
}

/** An action as the API shows it. */
export interface ActionView {
  readonly id: number;
  readonly command: string;
  readonly status: "running" | "success" | "error";
  readonly progress: number;
  readonly started: string;
  readonly finished: string | null;
  readonly resources: readonly ResourceRef[];
  readonly error: ActionError | null;
}

/**
 * How an action behaves:
 * - `fails`     it ends with an error and changes nothing
 * - `hangs`     it never ends, and its resources stay locked
 * - `vanishes`  it ends as usual, but the API does not know its id
 */
export interface PlannedOutcome {
  readonly outcome: "fails" | "hangs" | "vanishes";
  /** The name of the action, for example `add_target`; if absent, any action. */
  readonly command?: string;
  /** The error of `fails`; if absent, `action_failed`. */
  readonly error?: ActionError;
}

export interface Work {
  readonly command: string;
  readonly resources: readonly ResourceRef[];
  /** If unset, the first of the resources. */
  readonly locks?: readonly ResourceRef[];
  /** The duration; if absent, `Actions.time`. */
  readonly time?: Milliseconds;
  /** Applies the change. */
  readonly end?: () => void;
  /** Called instead of `end` when the action fails. */
  readonly fail?: (error: ActionError) => void;
}

interface StoredAction extends Work {
  readonly id: number;
  readonly started: number;
  readonly planned: PlannedOutcome | undefined;
  readonly due: number;
  ended?: { readonly at: number; readonly error: ActionError | null };
}

const keyOf = ({ type, id }: ResourceRef): string => `${type} ${id}`;
const iso = (time: number): string => new Date(time).toISOString();

export class Actions {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #byID = new Map<number, StoredAction>();
  readonly #locks = new Map<string, StoredAction>();
  #pending: readonly StoredAction[] = [];
  #planned: readonly PlannedOutcome[] = [];
  /** How long an action takes. */
  time: Milliseconds;

  constructor(ids: Ids, time: Milliseconds) {
    this.#clock = ids.clock;
    this.#ids = ids;
    this.time = time;
  }

  /** Decides the outcome of the next matching action. */
  plan(outcome: PlannedOutcome): void {
    this.#planned = [...this.#planned, outcome];
  }

  isLocked(resource: ResourceRef): boolean {
    return this.#locks.has(keyOf(resource));
  }

  start(work: Work): ActionView {
    const now = this.#clock.monotonic();
    const planned = this.#planned.find(({ command }) => command === undefined || command === work.command);
    this.#planned = this.#planned.filter((each) => each !== planned);
    const due = planned?.outcome === "hangs" ? Number.POSITIVE_INFINITY : now + (work.time ?? this.time);
    const action = { ...work, id: this.#ids.next(), started: this.#clock.now(), planned, due };
    if (planned?.outcome !== "vanishes") this.#byID.set(action.id, action);
    this.#pending = [...this.#pending, action];
    for (const resource of work.locks ?? work.resources.slice(0, 1)) this.#locks.set(keyOf(resource), action);
    if (due <= now) this.settle();
    return this.#view(action);
  }

  /** Ends the actions that are due, in the order of their ends. */
  settle(): void {
    const now = this.#clock.monotonic();
    const due = this.#pending.filter((action) => action.due <= now);
    if (due.length === 0) return;
    this.#pending = this.#pending.filter((action) => action.due > now);
    for (const action of due.toSorted((one, other) => one.due - other.due)) this.#end(action, now);
  }

  find(id: number): ActionView | undefined {
    const action = this.#byID.get(id);
    return action === undefined ? undefined : this.#view(action);
  }

  /** The actions of a resource, oldest first. */
  list(type: ResourceType, id: number): readonly ActionView[] {
    const concerns = ({ resources }: StoredAction) =>
      resources.some((resource) => resource.type === type && resource.id === id);
    return [...this.#byID.values()].filter(concerns).map((action) => this.#view(action));
  }

  #end(action: StoredAction, now: number): void {
    for (const [key, holder] of this.#locks) if (holder === action) this.#locks.delete(key);
    const { planned } = action;
    const at = this.#clock.now() - (now - action.due);
    if (planned?.outcome === "fails") {
      const error = planned.error ?? { code: "action_failed", message: "Action failed" };
      action.ended = { at, error };
      action.fail?.(error);
    } else {
      action.ended = { at, error: null };
      action.end?.();
    }
  }

  #view({ id, command, resources, started, due, ended, time }: StoredAction): ActionView {
    const total = time ?? this.time;
    const left = Math.min(1, (due - this.#clock.monotonic()) / (total || 1));
    return {
      id,
      command,
      status: ended === undefined ? "running" : ended.error === null ? "success" : "error",
      progress: ended === undefined ? Math.min(99, Math.floor(100 * (1 - left))) : 100,
      started: iso(started),
      finished: ended === undefined ? null : iso(ended.at),
      resources,
      error: ended?.error ?? null,
    };
  }
}
