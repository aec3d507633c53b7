// Validates the name of a new provider, and derives the spellings that its files use. Pure.

import { didYouMean } from "../../src/core/did-you-mean.ts";

export interface ProviderName {
  /** `green-meadow`: executable, flag, and scheme of provider ids. */
  readonly kebab: string;
  /** `greenMeadow`: the name of the export. */
  readonly camel: string;
  /** `Green Meadow`: in sentences. */
  readonly title: string;
  /** `GREEN_MEADOW`: before the names of variables. */
  readonly upper: string;
}

const maxLength = 40;

/** Words that cannot be the name of an export. */
const reserved = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
    "false finally for function if implements import in instanceof interface let new null package private protected " +
    "public return static super switch this throw true try typeof undefined var void while with yield"
  ).split(" "),
);

/** `MyCloud`, `my_cloud` and `my cloud` mean `my-cloud`. */
function toKebab(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^[-0-9]+|-+$/g, "");
}

export const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The name, or an error message. */
export function readName(given: string, taken: readonly string[]): ProviderName | { readonly error: string } {
  if (given.length > maxLength) {
    return {
      error: `A provider's name has at most ${maxLength} characters, but "${given.slice(0, maxLength)}…" has ${given.length}.`,
    };
  }
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(given)) {
    const meant = toKebab(given);
    const hint = meant === "" ? "" : ` Did you mean "${meant}"?`;
    return {
      error: `A provider's name consists of lowercase words joined by dashes, got ${JSON.stringify(given)}.${hint}`,
    };
  }
  if (reserved.has(given)) {
    return {
      error: `"${given}" is a reserved word in TypeScript. Choose a different name, such as "${given}-cloud".`,
    };
  }
  if (taken.includes(given))
    return { error: `A provider "${given}" already exists. Choose a different name.` };
  const words = given.split("-");
  const title = words.map(capital);
  return {
    kebab: given,
    camel: [words[0], ...title.slice(1)].join(""),
    title: title.join(" "),
    upper: words.join("_").toUpperCase(),
  };
}

/** An existing provider with a similar name. */
export function similarName({ kebab }: ProviderName, taken: readonly string[]): string | undefined {
  return didYouMean(kebab, taken);
}
