// What a new provider may be called, and every spelling of that name that its files hold. It looks at names only, never
// at the disk.

import { didYouMean } from "../../src/core/did-you-mean.ts";

export interface ProviderName {
  /** `green-meadow`: executable, flag, scheme of provider ids. */
  readonly kebab: string;
  /** `greenMeadow`: the name of the export. */
  readonly camel: string;
  /** `Green Meadow`: in sentences. */
  readonly title: string;
  /** `GREEN_MEADOW`: before the names of variables. */
  readonly upper: string;
}

const longest = 40;

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

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The name, or what is wrong with it in words. */
export function readName(given: string, taken: readonly string[]): ProviderName | { readonly wrong: string } {
  if (given.length > longest) {
    return {
      wrong: `A name has at most ${longest} characters, "${given.slice(0, longest)}…" has ${given.length}.`,
    };
  }
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(given)) {
    const meant = toKebab(given);
    const hint = meant === "" ? "" : ` Did you mean "${meant}"?`;
    return { wrong: `A name is lower case words joined by dashes, got ${JSON.stringify(given)}.${hint}` };
  }
  if (reserved.has(given)) {
    return { wrong: `"${given}" is a word of TypeScript and cannot be exported. Take "${given}-cloud".` };
  }
  if (taken.includes(given)) return { wrong: `There is a provider "${given}" already. Take another name.` };
  const words = given.split("-");
  const title = words.map(capital);
  return {
    kebab: given,
    camel: [words[0], ...title.slice(1)].join(""),
    title: title.join(" "),
    upper: words.join("_").toUpperCase(),
  };
}

/** A provider whose name is so near that it may be the one that was meant. */
export function nearName({ kebab }: ProviderName, taken: readonly string[]): string | undefined {
  return didYouMean(kebab, taken);
}
