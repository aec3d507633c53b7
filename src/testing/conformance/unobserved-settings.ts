// The settings whose change the framework cannot notice, because the provider does not say what they are in the cloud. Pure.

import type { Fields } from "../../core/settings.ts";

/** Empty, or one message for each. */
export function unobservedSettings(
  fields: Fields,
  observed: Readonly<Record<string, unknown>> | undefined,
): readonly string[] {
  return Object.entries(fields).flatMap(([name, { whenChanged }]) =>
    whenChanged === undefined || whenChanged === "update" || observed?.[name] !== undefined
      ? []
      : `The annotation ${name} has whenChanged: "${whenChanged}", but settingsOf does not return it: a change of it would have no effect. Return its value from settingsOf.`,
  );
}
