// Finds the known name closest to a typo, for "did you mean …?" in messages. It only suggests; nothing is corrected
// silently. Pure.

const maxLength = 100;

/** Differences in case and separators do not count as edits. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[_. ]/g, "-");

/**
 * The optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbors, no part edited twice.
 * Undefined when it is greater than `max`.
 */
export function editDistance(from: string, to: string, max: number): number | undefined {
  if (Math.abs(from.length - to.length) > max) return undefined;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    if (Math.min(...current) > max && Math.min(...last) > max) return undefined;
    beforeLast = last;
    last = current;
  }
  const distance = last[to.length] ?? 0;
  return distance <= max ? distance : undefined;
}

/**
 * The known name closest to the word, or undefined when none is close. Of two equally close names the earlier one wins.
 *
 * @example
 * didYouMean("algoritm", ["algorithm", "adopt"]) // "algorithm"
 */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  if (word.length > maxLength) return undefined;
  const plainWord = plain(word);
  let nearest: string | undefined;
  let max = Math.min(3, Math.max(1, Math.floor(plainWord.length / 3)));
  for (const candidate of known) {
    const distance = editDistance(plainWord, plain(candidate), nearest === undefined ? max : max - 1);
    if (distance === undefined) continue;
    nearest = candidate;
    max = distance;
    if (distance === 0) break;
  }
  return nearest;
}
