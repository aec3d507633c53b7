// The command line of a script. --help prints the usage; an error ends the script with 2 and an explanation.

import { resolve } from "node:path";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { didYouMean } from "../src/core/did-you-mean.ts";

/** A problem that the person who runs the script can correct. */
export class ScriptError extends Error {}

/** Prints the reason, and the usage if this helps, and ends the script. */
export function fail(reason: unknown, usage?: string): never {
  if (reason instanceof Error && !(reason instanceof ScriptError)) throw reason;
  const text = (reason instanceof Error ? reason.message : String(reason)).trimEnd();
  process.stderr.write(`${text}\n${usage === undefined ? "" : `\n${usage}`}`);
  process.exit(2);
}

/** Ends the script with the reason if the work throws a `ScriptError`. */
export function orFail<T>(work: () => T, usage?: string): T {
  try {
    return work();
  } catch (error) {
    return fail(error, usage);
  }
}

/** The options and the other words. Throws for an option that is unknown or lacks its value, and for more than `most` words. */
export function parseWords<const T extends ParseArgsOptionsConfig>(
  words: readonly string[],
  options: T,
  most = Number.POSITIVE_INFINITY,
) {
  const given = { args: [...words], allowPositionals: true, options };
  for (const token of parseArgs({ ...given, strict: false, tokens: true }).tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const known = options[name];
    if (known === undefined) {
      const meant = didYouMean(name, Object.keys(options));
      throw new ScriptError(
        `Unknown option ${rawName}.${meant === undefined ? "" : ` Did you mean --${meant}?`}`,
      );
    }
    if (known.type === "string" && (value ?? "") === "")
      throw new ScriptError(`${rawName} requires a value.`);
    if (known.type === "boolean" && value !== undefined)
      throw new ScriptError(`${rawName} takes no value, got ${JSON.stringify(value)}.`);
  }
  const { values, positionals } = parseArgs({ ...given, strict: false });
  const unexpected = positionals[most];
  if (unexpected !== undefined) throw new ScriptError(`Unexpected argument ${JSON.stringify(unexpected)}.`);
  // Every option is known and has a value of its type.
  return { values, positionals } as ReturnType<typeof parseArgs<typeof given>>;
}

const help = { type: "boolean", short: "h", default: false } as const;

/** Parses this process's arguments. */
export function commandLine<const T extends ParseArgsOptionsConfig>(
  usage: string,
  options: T,
  most = 0,
): ReturnType<typeof parseWords<T>> {
  const words = process.argv.slice(2);
  printHelp(usage, words);
  return orFail(
    () => parseWords(words, { ...options, help }, most) as ReturnType<typeof parseWords<T>>,
    usage,
  );
}

/** Ends the script after the usage if a word requests it. */
export function printHelp(usage: string, words: readonly string[]): void {
  if (!words.includes("--help") && !words.includes("-h")) return;
  process.stdout.write(usage);
  process.exit(0);
}

export function wholeNumber(option: string, text: string, least = 0, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(number) && number >= least && number <= most) return number;
  const limit = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return fail(`--${option} must be a whole number ${limit}, got ${JSON.stringify(text)}.`);
}

/** Finds the entry with this name. Throws for an unknown name. */
export function oneNamed<T extends { readonly name: string }>(
  what: string,
  name: string,
  all: readonly T[],
): T {
  const found = all.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = all.map((each) => each.name);
  const meant = didYouMean(name, names);
  const hint = meant === undefined ? `Known: ${names.join(", ")}.` : `Did you mean ${meant}?`;
  throw new ScriptError(`Unknown ${what} ${JSON.stringify(name)}. ${hint}`);
}

/** A path relative to the folder of the caller: npm changes to the repository, and stores that folder in INIT_CWD. */
export function fromCaller(path: string): string {
  return resolve(process.env["INIT_CWD"] ?? process.cwd(), path);
}
