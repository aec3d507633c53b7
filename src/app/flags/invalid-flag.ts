// A flag whose value cannot be used, alone or beside another, as a problem that begins with its name.

import type { Problem } from "../../core/problem.ts";

/** `says` goes on behind the name: "must be …, got …", "is …; choose another". */
export function invalidFlag(flag: string, says: string): Problem {
  return {
    severity: "error",
    reason: "InvalidFlag",
    key: `--${flag}`,
    text: `--${flag} ${says}`,
  };
}
