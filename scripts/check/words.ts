// Words that the project does not use in prose, comments, messages and test titles, each with what to write instead. Quoted
// upstream text is exempt where its line, or the line before, contains "words-ok:" and the reason.

import { proseOf } from "./prose.ts";

export interface RuledOut {
  readonly pattern: RegExp;
  readonly instead: string;
  /** An example for the test of the table. */
  readonly example: string;
}

export const ruledOutWords: readonly RuledOut[] = [
  { pattern: /told/, instead: 'name the actor and use "reports", "logs" or "returns"', example: "told" },
  {
    pattern: /tell(?:s|ing)?/,
    instead: '"reports", "shows"; to tell apart: "distinguishes"',
    example: "tells",
  },
  { pattern: /tellers?/, instead: "reporter", example: "teller" },
  { pattern: /nobody/, instead: 'name what is missing: "no client", "no Node"', example: "nobody" },
  { pattern: /who(?:so)?ever/, instead: 'name the actor: "anyone who", "a client that"', example: "whoever" },
  { pattern: /whom/, instead: 'a noun, and "that" or "which"', example: "whom" },
  { pattern: /whose sake/, instead: '"for"', example: "whose sake" },
  { pattern: /anew/, instead: '"again", "from scratch"', example: "anew" },
  { pattern: /wish(?:es|ed|ing)?/, instead: '"desired state", "requests", "needs"', example: "wishes" },
  { pattern: /ours|theirs/, instead: '"Fairlead" and "the Go manager" or "upstream"', example: "theirs" },
  { pattern: /mend(?:s|ed|ing)?/, instead: '"fix", "correct", "recover"', example: "mended" },
  { pattern: /(?:becomes?|became) of/, instead: '"what happens to"', example: "becomes of" },
  { pattern: /counts? more/, instead: '"takes precedence over"', example: "counts more" },
  { pattern: /carr(?:y|ies|ied|ying) out/, instead: '"apply"', example: "carried out" },
  { pattern: /put right/, instead: '"repaired", "corrected"', example: "put right" },
  { pattern: /sightings?/, instead: '"observation"', example: "sighting" },
  { pattern: /surroundings/, instead: '"context", "environment"', example: "surroundings" },
  { pattern: /debts?|ow(?:e|es|ed|ing)/, instead: '"pending release"', example: "debt" },
  { pattern: /seams?/, instead: '"platform", "injected dependency"', example: "seam" },
  {
    pattern: /(?:some|every)body(?: else)?|someone/,
    instead: 'name the actor: "a user", "another program"',
    example: "somebody",
  },
  {
    pattern: /of (?:its|their) own(?!\x20[a-z]{2})/,
    instead: '"own" before the noun, "separate"',
    example: "of its own",
  },
  { pattern: /by itself/, instead: '"automatically", "without …"', example: "by itself" },
  {
    pattern: /look(?:s|ed|ing)? again/,
    instead: '"checks again", "lists again", "looks up again"',
    example: "looks again",
  },
].map((word) => ({
  ...word,
  pattern: new RegExp(`\\b(?:${word.pattern.source.replaceAll(" ", "\\s+")})\\b`, "gi"),
}));

/** Pages that are generated from code and tests, which are checked themselves. */
const generated: readonly string[] = ["events", "features", "flags", "metrics", "provider-reference"].map(
  (page) => `docs/${page}.md`,
);
/** The list, and the test that plants each word. */
const aboutTheWords: readonly string[] = ["scripts/check/words.ts", "test/docs/words.test.ts"];

export const isExempt = (path: string): boolean => generated.includes(path) || aboutTheWords.includes(path);

const marker = "words-ok:";

/** One line per word that is not allowed: place, word, and replacement. */
export function ruledOutIn(path: string, text: string): readonly string[] {
  const prose = proseOf(path, text);
  const lines = text.split("\n");
  return ruledOutWords.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].flatMap((match) => {
      const line = prose.slice(0, match.index).split("\n").length;
      const isMarked = [lines[line - 2], lines[line - 1]].some((near) => near?.includes(marker) === true);
      const word = match[0].replaceAll(/\s+/g, " ");
      return isMarked ? [] : [`${path}:${line}: "${word}"; write ${instead}`];
    }),
  );
}
