// The reference page of the flags, from the table that also reads them.

import { flagFields } from "../../src/app/flags.ts";
import { settingsReference } from "../../src/core/settings-reference.ts";

export const flagsPage = (): string =>
  [
    "# Flags",
    "",
    "Made by `npm run docs` from the table in `src/app/flags.ts`; never edited by hand. Flags are read as pflag reads them:",
    "`--name value` and `--name=value`, list flags add up, the last of a scalar counts, what is unknown is refused with the",
    "nearest name.",
    "",
    settingsReference(flagFields, "--"),
    "",
  ].join("\n");
