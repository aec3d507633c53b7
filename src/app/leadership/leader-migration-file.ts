// Reads the leader migration from the file of --leader-migration-config, or uses upstream's default configuration.

import { codeOf } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";
import type { Flags } from "../flags/table.ts";
import {
  createMigration,
  defaultMigration,
  type LeaderMigration,
  type ParsedMigration,
  readMigration,
} from "./leader-migration.ts";

function problem(text: string): Problem {
  return {
    severity: "error",
    reason: "InvalidLeaderMigration",
    key: "--leader-migration-config",
    text: `--leader-migration-config: ${text}`,
  };
}

/** Strict: duplicate fields are errors. */
export async function readMigrationText(text: string): Promise<ParsedMigration> {
  // Loaded only here: the parser takes a megabyte of memory, and few clusters migrate.
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: true });
  if (document.errors.length > 0) {
    return { problems: document.errors.map(({ message }) => problem(message.split("\n")[0] ?? message)) };
  }
  return readMigration(document.toJS() as unknown);
}

/** As in upstream, there is no leader migration without leader election. */
export async function readMigrationOf(
  flags: Pick<Flags, "leader-elect" | "enable-leader-migration" | "leader-migration-config">,
  files: Pick<Files, "read">,
): Promise<{ readonly migration?: LeaderMigration; readonly problems: readonly Problem[] }> {
  if (!flags["leader-elect"] || !flags["enable-leader-migration"]) return { problems: [] };
  const path = flags["leader-migration-config"];
  if (path === undefined) return { migration: createMigration(defaultMigration), problems: [] };
  let text: string;
  try {
    text = await files.read(path);
  } catch (error) {
    const code = codeOf(error) || "unknown error";
    return {
      problems: [
        problem(
          `cannot read ${path} (${code}); check that the file exists and that this process may read it`,
        ),
      ],
    };
  }
  const { migration, problems } = await readMigrationText(text);
  return migration === undefined ? { problems } : { migration: createMigration(migration), problems };
}
