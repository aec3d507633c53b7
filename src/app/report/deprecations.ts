// Recent announcements of the cloud and the API server: deprecated operations, types and images, warnings, and unknown values.
// Each is kept once, in bounded size, for a day after it was last seen.

import type { AnnouncedKind, Announcement } from "../../core/announcements.ts";
import { minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import { countOf, cutText, shortList } from "../../core/text.ts";
import type { Clock } from "../../platform/clock.ts";

export type AnnouncingApi = "cloud" | "kubernetes";

/** A deprecation announcement, as text. */
export interface Deprecation {
  readonly api: AnnouncingApi;
  readonly what: AnnouncedKind;
  readonly text: string;
}

const capacity = 100;
const maxName = 100;
const lasts = minutes(24 * 60);

const short = (text: string): string => cutText(text.slice(0, 2 * maxName));

const servers: Readonly<Record<AnnouncingApi, string>> = { cloud: "cloud", kubernetes: "API server" };

function describe(api: AnnouncingApi, { what, name, text }: Announcement): string {
  const [subject, said] = [short(name), short(text)];
  switch (what) {
    case "operation":
      return `${servers[api]}: ${subject} is ${said}`;
    case "warning":
      return `${servers[api]}, to ${subject}: ${said}`;
    case "type":
    case "image":
      return `${servers[api]}: the ${subject} in use is deprecated${said === "" ? "" : `, ${said}`}`;
    case "value":
      return `${servers[api]}: ${subject} has the unknown value ${JSON.stringify(said)}`;
  }
}

export class Deprecations {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new Map<string, Deprecation & { seenAt: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Keeps the first text about each item, because a server may vary the text with each response. */
  note(api: AnnouncingApi, found: Announcement): void {
    const key = `${api} ${found.what} ${found.name.slice(0, maxName)}`;
    const known = this.#known.get(key);
    const seenAt = this.#clock.monotonic();
    if (known !== undefined) known.seenAt = seenAt;
    else if (this.#known.size < capacity || this.#forget() < capacity)
      this.#known.set(key, { api, what: found.what, text: describe(api, found), seenAt });
  }

  get all(): readonly Deprecation[] {
    this.#forget();
    return [...this.#known.values()].map(({ api, what, text }) => ({ api, what, text }));
  }

  /** Returns how many announcements are left. */
  #forget(): number {
    const since = this.#clock.monotonic() - lasts;
    for (const [key, { seenAt }] of this.#known) if (seenAt < since) this.#known.delete(key);
    return this.#known.size;
  }
}

/** All announcements in one problem; undefined if there are none. */
export function announcedProblem(all: readonly Deprecation[]): Problem | undefined {
  if (all.length === 0) return undefined;
  const list = shortList(all.map(({ text }) => text).toSorted(), 800);
  return {
    severity: "warning",
    reason: "DeprecationAnnounced",
    text: `${countOf(all.length, "announcement")} of the cloud and the API server: ${list}.`,
    effect: "Everything works as before until then. Fairlead changes nothing because of it.",
    remedy:
      "Replace deprecated types and images that are in use. For requests and unknown values, check whether a newer version of Fairlead knows them, and report it otherwise.",
  };
}
