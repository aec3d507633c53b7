// What the executable does at once and then ends: help, version, notices, a manifest. Wrong flags are refused here too; what
// is wrong with the cloud's settings is the manager's matter.

import type { Problem } from "../core/problem.ts";
import { commands } from "./command-words.ts";
import type { Configuration } from "./configuration/configuration.ts";
import type { AnyProvider } from "./connect-cloud.ts";
import { chooseWebhooks } from "./endpoints/choose-webhooks.ts";
import { webhookManifest } from "./endpoints/webhook-manifest.ts";
import { helpText } from "./flags/help.ts";
import { invalidFlag } from "./flags/invalid-flag.ts";
import type { Flags } from "./flags/table.ts";
import type { ManagerPlatform } from "./manager-platform.ts";
import { rawVersion } from "./raw-version.ts";
import { notices, version } from "./version.ts";

export interface Answer {
  readonly out: string;
  /** For stderr: what is wrong, or worth a word. */
  readonly errors: readonly string[];
  readonly code: 0 | 2;
}

export interface CommandOptions {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly platform: Pick<ManagerPlatform, "files" | "clock" | "random">;
}

const done = (out: string, ...notes: readonly string[]): Answer => ({ out, errors: notes, code: 0 });
function refused(problems: readonly Problem[]): Answer {
  return {
    out: "",
    errors: problems.map(({ text }) => text),
    code: 2,
  };
}
const isError = ({ severity }: Problem): boolean => severity === "error";

function manifestProblems(flags: Flags): readonly Problem[] {
  const found: Problem[] = [];
  const asked = flags.webhooks ?? [];
  if (asked.length > 0 && chooseWebhooks(asked).enabled.length === 0)
    found.push(
      invalidFlag("webhooks", "names no webhook to tell the API server of; leave it out, or name one"),
    );
  if (flags["webhook-secure-port"] === 0)
    found.push(
      invalidFlag("webhook-secure-port", "is 0, so no webhook is served; give the port of the manager"),
    );
  return found;
}

async function manifest(flags: Flags, { program, platform }: CommandOptions): Promise<Answer> {
  const problems = manifestProblems(flags);
  if (problems.length > 0) return refused(problems);
  // What makes certificates is loaded only for this.
  const { authorityError, findAuthority } = await import("./endpoints/webhook-authority.ts");
  try {
    const { ca, note } = await findAuthority(flags, program, platform);
    const text = webhookManifest(program, flags["webhook-secure-port"], ca);
    return done(text, ...(note === undefined ? [] : [note]));
  } catch (error) {
    return { out: "", errors: [authorityError(error)], code: 2 };
  }
}

async function schemaText({ provider, program }: CommandOptions): Promise<string> {
  const { configurationSchema } = await import("./configuration/schema.ts");
  return `${JSON.stringify(configurationSchema(provider, program), undefined, 2)}\n`;
}

/** What was asked for; undefined when it is the manager that is wanted. */
export async function answerCommand(
  configuration: Configuration,
  options: CommandOptions,
): Promise<Answer | undefined> {
  const { provider, program } = options;
  const { flags, positional } = configuration.settings;
  if (flags.help || positional[0] === "help") return done(helpText(program, provider.config, commands));
  const asksForVersion = flags.version !== "false" || positional[0] === "version";
  const isManifest = positional[0] === "webhook-manifest";
  const isSchema = positional[0] === "schema";
  if (!flags.notices && !asksForVersion && !isManifest && !isSchema) return undefined;
  const wrong = configuration.flagProblems.filter(isError);
  if (wrong.length > 0) return refused(wrong);
  if (flags.notices) return done(notices);
  if (isSchema) return done(await schemaText(options));
  if (!asksForVersion) return manifest(flags, options);
  return done(flags.version === "raw" ? rawVersion(program) : `${program} ${version}\n`);
}
