// Finds environment variables that look like cloud settings but are not. Without this check a typo would go unnoticed: the
// default would apply, which may change the cloud. Pure.

import { didYouMean, editDistance } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { entryVariablesIn } from "./entry-variables.ts";

const prefixOf = (name: string): string | undefined => /^[^_]+_/.exec(name)?.[0];

/** Suffixes of the variables that Kubernetes sets in pods for each Service. */
const ofService = /^(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

function servicesIn(environment: Environment): readonly string[] {
  const ending = "_SERVICE_HOST";
  return Object.keys(environment).flatMap((name) =>
    name.endsWith(ending) ? [name.slice(0, 1 - ending.length)] : [],
  );
}

/**
 * The setting that was probably meant. Variables with a different prefix may belong to other programs, so they must be nearly
 * equal.
 */
function meantBy(name: string, prefix: string | undefined, known: readonly string[]): string | undefined {
  if (prefix === undefined) return known.find((one) => editDistance(name, one, 2) !== undefined);
  const rests = known.flatMap((one) => (one.startsWith(prefix) ? [one.slice(prefix.length)] : []));
  const meant = didYouMean(name.slice(prefix.length), rests);
  return meant === undefined ? undefined : prefix + meant;
}

/**
 * In a short word, a different letter makes a different word, such as UID and ID. Doubled letters and swapped neighbors do not
 * count.
 */
function distanceOf(word: string, other: string): number | undefined {
  if (other.length >= 4) return editDistance(word, other, other.length < 7 ? 1 : 2);
  const hasSameLetters = new Set(word).symmetricDifference(new Set(other)).size === 0;
  return editDistance(word, other, hasSameLetters ? 1 : 0);
}

/**
 * Whether one name is a misspelling of another: a few letters of each word differ, or an underscore. Names that differ in a whole
 * word or in a digit are different settings, such as `…_NAME` and `…_TYPE`.
 */
function isTypo(name: string, known: string): boolean {
  const digits = (text: string): string => text.replaceAll(/\D/g, "");
  if (digits(name) !== digits(known)) return false;
  const [words, others] = [name.split("_"), known.split("_")];
  if (words.length !== others.length)
    return editDistance(name.replaceAll("_", ""), known.replaceAll("_", ""), 1) !== undefined;
  const distances = words.map((word, index) => distanceOf(word, others[index] ?? "") ?? 3);
  return distances.reduce((sum, distance) => sum + distance, 0) <= 2;
}

/** Whether the environment provides the setting's value, directly or through a file. */
function hasValue(name: string, environment: Environment): boolean {
  const value = name.replace(/_FILE$/, "");
  return [value, `${value}_FILE`].some((one) => (environment[one] ?? "") !== "");
}

/** The unset secret that the cloud's other clients read from such a variable, such as `ACME_API_KEY` instead of `ACME_KEY`. */
function secretMeantBy(
  name: string,
  provider: string,
  config: Fields,
  environment: Environment,
): string | undefined {
  const secrets = Object.values(config).flatMap(({ env, isSecret }) => (isSecret === true && env ? env : []));
  const lastWord = (text: string) => text.slice(text.lastIndexOf("_") + 1);
  const beginnings = [`${provider.toUpperCase()}_`, ...secrets.flatMap((one) => prefixOf(one) ?? [])];
  if (!beginnings.some((one) => name.startsWith(one))) return undefined;
  return secrets.find((one) => lastWord(one) === lastWord(name) && !hasValue(one, environment));
}

/**
 * A near miss is an error unless it is allowed, or the setting has a value: then the variable is meant for another program. Other
 * variables with a setting's prefix only produce a note.
 */
export function unknownVariables(
  { name: provider, executable = provider, config }: Pick<AnyProvider, "name" | "executable" | "config">,
  environment: Environment,
  isAllowed: boolean,
): readonly Problem[] {
  const known = Object.values(config).flatMap(({ env }) => env ?? []);
  const prefixes = new Set(known.flatMap((name) => prefixOf(name) ?? []));
  const services = servicesIn(environment);
  const ofEntries = entryVariablesIn(config, environment);
  return Object.entries(environment).flatMap(([name, value = ""]): readonly Problem[] => {
    if (value === "" || known.includes(name) || ofEntries.has(name)) return [];
    if (services.some((one) => name.startsWith(one) && ofService.test(name.slice(one.length)))) return [];
    const own = prefixOf(name) ?? "";
    const prefix = prefixes.has(own) ? own : undefined;
    const nearest = meantBy(name, prefix, known);
    const meant =
      nearest === undefined || hasValue(nearest, environment)
        ? secretMeantBy(name, executable, config, environment)
        : nearest;
    const problem = { reason: "UnknownVariable", key: name };
    if (meant !== undefined && !isAllowed && isTypo(name, meant)) {
      const text = `The environment variable ${name} is not known; did you mean ${JSON.stringify(meant)}? Nothing is started, because ${meant} would not have the value that was probably meant. Correct or remove the variable, or set --allow-unknown-variables`;
      return [{ ...problem, severity: "error", text }];
    }
    if (meant === undefined && prefix === undefined) return [];
    const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
    const text = `The environment variable ${name} is not known, so it has no effect${hint}`;
    return [{ ...problem, severity: "warning", text }];
  });
}
