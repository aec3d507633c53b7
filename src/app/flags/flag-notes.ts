// Notes that extend the fields of flags: why a flag has no effect, deprecation, a shorthand, and the commands that accept it. A
// note applies to a whole table of fields.

import type { Field, Fields } from "../../core/settings.ts";

export interface FlagNotes {
  /** The end of the warning "--name has no effect: …". */
  readonly noEffect?: string;
  /** The flag is hidden from the help, and setting it gives a warning. */
  readonly deprecated?: true;
  readonly shorthand?: string;
  /** The commands that accept the flag; all other commands reject it. */
  readonly commands?: readonly string[];
}

export interface FlagGroup<F extends Fields = Fields> {
  /** The title of the group in upstream's help, in lower case. */
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

/** A reload applies changes to these flags. */
export const live = <F extends Fields>(fields: F): F => withNotes(fields, { reload: "live" });

/** Marks flags that are accepted only so that argument lists of the Go managers work unchanged. */
export const noEffect = <F extends Fields>(why: string, fields: F): F => withNotes(fields, { noEffect: why });

/** Marks flags that are accepted but hidden from the help, as in upstream. */
export const deprecated = <F extends Fields>(why: string, fields: F): F =>
  withNotes(fields, { noEffect: why, deprecated: true });

/** Restricts flags to some commands; all other commands reject them. */
export const onlyFor = <F extends Fields>(commands: readonly string[], fields: F): F =>
  withNotes(fields, { commands });

export const shorthand = <F extends Field<unknown>>(letter: string, field: F): F & FlagNotes => ({
  ...field,
  shorthand: letter,
});
