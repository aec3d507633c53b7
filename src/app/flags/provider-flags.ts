// The flags that a cloud's Go manager adds to upstream's: cloud settings as flags, and flags without effect.

import { text } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";
import type { Field, Fields } from "../../core/settings.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { noEffect } from "./flag-notes.ts";
import { invalidFlag } from "./flag-problems.ts";

export interface ProviderFlags {
  readonly fields: Fields;
  /** The values that flags set, by setting name. */
  settingsOf(given: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

export type FlagsOfProvider = Partial<Pick<AnyProvider, "name" | "presets" | "config" | "ignoredFlags">>;

/** The fields with the presets of a provider as their defaults, for help and schema. */
export function withPresets(
  fields: Fields,
  presets: NonNullable<FlagsOfProvider["presets"]> = {},
): Readonly<Record<string, Field<unknown>>> {
  return Object.fromEntries(
    Object.entries<Field<unknown>>(fields).map(([name, field]) => {
      const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
      const parsed =
        preset === undefined ? undefined : field.parse(preset, { key: `--${name}`, what: "flag" });
      return [name, parsed !== undefined && "value" in parsed ? { ...field, fallback: parsed.value } : field];
    }),
  );
}

/** Finds lists of records in --config-set, where a comma separates settings. */
export function recordProblems(
  { config = {} }: FlagsOfProvider,
  given: ReadonlyMap<string, string> | undefined,
): readonly Problem[] {
  return [...(given?.keys() ?? [])].flatMap((name): readonly Problem[] => {
    const field: Field<unknown> | undefined = Object.hasOwn(config, name) ? config[name] : undefined;
    if (field?.kind !== "records") return [];
    const variable = field.env === undefined ? "" : `, or set ${field.env} to a JSON array of objects`;
    return [
      invalidFlag(
        "config-set",
        `cannot set ${name}, a list of mappings; write it under cloud in the --config file${variable}`,
      ),
    ];
  });
}

export function providerFlags({ config = {}, ignoredFlags = {} }: FlagsOfProvider): ProviderFlags {
  const settings = new Map<string, string>();
  const fields: Record<string, Field<unknown>> = {};
  for (const [setting, field] of Object.entries<Field<unknown>>(config)) {
    if (field.flag === undefined) continue;
    settings.set(field.flag, setting);
    // Former names belong to the setting; the flag never had these names.
    const { renamedFrom: _, ...asFlag } = field;
    fields[field.flag] = asFlag;
  }
  for (const [name, why] of Object.entries(ignoredFlags)) {
    // Declared as a switch, so that `--name` and `--name=value` are both accepted, whatever the original type was.
    const accepted = { [name]: { ...text("Accepted for compatibility."), kind: "switch" } } as const;
    Object.assign(fields, noEffect(why, accepted));
  }
  return {
    fields,
    settingsOf: (given) =>
      Object.fromEntries(
        Object.entries(given).flatMap(([name, value]) => {
          const setting = settings.get(name);
          return setting === undefined ? [] : [[setting, value]];
        }),
      ),
  };
}
