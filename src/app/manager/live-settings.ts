// The settings that the controllers read, as they are now. A reload replaces the values in place, while no controller works on
// anything, so nothing that holds a section must be created again.

import type { ControllerSettings } from "../flags/controller-settings.ts";
import type { ReadFlags } from "../flags/read-flags.ts";

/** The settings of one controller. */
export type SettingsSection = Exclude<keyof ControllerSettings, "problems">;

const sections = Object.keys({
  nodes: true,
  lifecycle: true,
  routes: true,
  services: true,
} satisfies Record<SettingsSection, true>) as readonly SettingsSection[];

export class LiveSettings {
  /** The object and its sections keep their identity. Read a value when it is needed; do not copy it. */
  readonly current: ReadFlags;

  constructor(first: ReadFlags) {
    const copies = sections.map((name) => [name, { ...first[name] }] as const);
    this.current = { ...first, flags: { ...first.flags }, ...Object.fromEntries(copies) };
  }

  /** Returns the sections whose values have changed. */
  replace(next: ReadFlags): readonly SettingsSection[] {
    replaceIn(this.current.flags, next.flags);
    return sections.filter((name) => replaceIn(this.current[name], next[name]));
  }
}

/** Returns whether a value has changed. */
function replaceIn<T extends object>(target: T, next: T): boolean {
  const before = textOf(target);
  for (const name of Object.keys(target)) {
    if (!Object.hasOwn(next, name)) Reflect.deleteProperty(target, name);
  }
  Object.assign(target, next);
  return textOf(target) !== before;
}

/** For comparison only. */
function textOf(section: object): string {
  const entries = Object.entries(section).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries, (_, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
}
