// Finds the known name closest to a typo, for "did you mean …?" in messages. The result is only a suggestion; nothing is
// corrected silently. Pure.

const maxLength = 100;

/** Differences in case and separators do not count as edits. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[_. ]/g, "-");

/**
 * The optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbors, without editing a part
 * twice. Undefined if greater than `max`. Only cells within `max` of the diagonal can be part of the answer, so the time
 * grows linearly with the length.
 */
export function editDistance(from: string, to: string, max: number): number | undefined {
  if (Math.abs(from.length - to.length) > max) return undefined;
  let beforeLast: number[] = [];
  let last = Array.from({ length: Math.min(to.length, max) + 1 }, (_, column) => column);
  let lowestBefore = 0;
  const cellOf = (row: number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    const current: number[] = [];
    let lowest = row <= max ? row : Number.POSITIVE_INFINITY;
    if (row <= max) current[0] = row;
    for (let column = Math.max(1, row - max); column <= Math.min(to.length, row + max); column++) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(
        cellOf(last, column) + 1,
        cellOf(current, column - 1) + 1,
        cellOf(last, column - 1) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, cellOf(beforeLast, column - 2) + 1);
      }
      current[column] = cost;
      lowest = Math.min(lowest, cost);
    }
    // A swap refers to the row before the last.
    if (lowest > max && lowestBefore > max) return undefined;
    lowestBefore = lowest;
    beforeLast = last;
    last = current;
  }
  const distance = cellOf(last, to.length);
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
  // For a one-letter word, every other letter would be close.
  let max = plainWord.length === 1 ? 0 : Math.min(3, Math.max(1, Math.floor(plainWord.length / 3)));
  for (const candidate of known) {
    const distance = editDistance(plainWord, plain(candidate), nearest === undefined ? max : max - 1);
    if (distance === undefined) continue;
    nearest = candidate;
    max = distance;
    if (distance === 0) break;
  }
  return nearest;
}
