// The flags that a cloud's Go manager adds to upstream's: settings of the cloud under a flag's name, and flags without effect.

import { text } from "../../core/fields.ts";
import type { Field, Fields } from "../../core/settings.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import { noEffect } from "./flag-notes.ts";

export interface ProviderFlags {
  readonly fields: Fields;
  /** The values that were set by flag, by name of the setting. */
  settingsOf(given: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

export type FlagsOfProvider = Partial<Pick<AnyProvider, "presets" | "config" | "ignoredFlags">>;

export function providerFlags({ config = {}, ignoredFlags = {} }: FlagsOfProvider): ProviderFlags {
  const settings = new Map<string, string>();
  const fields: Record<string, Field<unknown>> = {};
  for (const [setting, field] of Object.entries<Field<unknown>>(config)) {
    if (field.flag === undefined) continue;
    settings.set(field.flag, setting);
    // Former names belong to the setting; the flag never had them.
    const { renamedFrom: _, ...asFlag } = field;
    fields[field.flag] = asFlag;
  }
  for (const [name, why] of Object.entries(ignoredFlags)) {
    // As a switch, `--name` and `--name=value` are both accepted, whatever the original type was.
    fields[name] = noEffect({ ...text("Accepted for compatibility."), kind: "switch" }, why);
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
