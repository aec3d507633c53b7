// A table of transitions: what can happen to a record, and what each change does to it.

/** The changes that a table has: the name of a transition as `kind`, and the second parameter of its function. */
export type ChangeIn<Table> = {
  readonly [Kind in keyof Table]: { readonly kind: Kind } & DetailsOf<Table[Kind]>;
}[keyof Table];

type DetailsOf<Transition> = Transition extends (record: never, details: infer Details) => void
  ? Details
  : never;

export function applyTransition<Table extends object, Kind extends keyof Table>(
  table: Table,
  record: object,
  change: { readonly kind: Kind },
): void {
  const transition = table[change.kind] as (record: object, change: { readonly kind: Kind }) => void;
  transition(record, change);
}
