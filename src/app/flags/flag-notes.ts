// Notes on flags in addition to their fields: the reason why they have no effect, deprecation, a shorthand, and the commands that
// accept them. A note applies to a whole table of fields.

import type { Field, Fields } from "../../core/settings.ts";

export interface FlagNotes {
  /** Completes the warning "--name has no effect: …". */
  readonly noEffect?: string;
  /** Hidden from the help; setting it gives a warning. */
  readonly deprecated?: true;
  readonly shorthand?: string;
  /** The only commands that accept the flag. */
  readonly commands?: readonly string[];
}

export interface FlagGroup<F extends Fields = Fields> {
  /** As in upstream's help, in lower case. */
  readonly title: string;
  readonly fields: F;
}

export const notesOf = (field: Field<unknown> & FlagNotes): FlagNotes => field;

/**
 * A change needs a restart unless the flag is `live`: it may configure something that is created once per process, such as a port or the
 * Lease, or decide which Nodes and which objects in the cloud belong to this process.
 */
export function needsRestart(field: Field<unknown>): boolean {
  const { noEffect: why, commands } = notesOf(field);
  return field.reload !== "live" && why === undefined && commands === undefined;
}

function withNotes<F extends Fields>(fields: F, notes: FlagNotes & Pick<Field<unknown>, "reload">): F {
  const noted = Object.entries<Field<unknown>>(fields).map(([name, field]) => [name, { ...field, ...notes }]);
  return Object.fromEntries(noted) as F;
}

/** A reload applies changes. */
export const live = <F extends Fields>(fields: F): F => withNotes(fields, { reload: "live" });

/** For flags that are accepted only so that argument lists of the Go managers work unchanged. */
export const noEffect = <F extends Fields>(why: string, fields: F): F => withNotes(fields, { noEffect: why });

/** As in upstream: hidden from the help, but still accepted. */
export const deprecated = <F extends Fields>(why: string, fields: F): F =>
  withNotes(fields, { noEffect: why, deprecated: true });

/** For flags of some commands; every other command refuses them. */
export const onlyFor = <F extends Fields>(commands: readonly string[], fields: F): F =>
  withNotes(fields, { commands });

export const shorthand = <F extends Field<unknown>>(letter: string, field: F): F & FlagNotes => ({
  ...field,
  shorthand: letter,
});
