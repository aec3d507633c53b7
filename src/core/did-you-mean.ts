// The known word that somebody most likely meant, for messages about unknown names. It only suggests: nothing is ever
// corrected silently.

const longest = 100;

/** Case and the choice of separator are no mistakes worth counting. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[_. ]/g, "-");

/**
 * Edits (insert, remove, replace, swap of neighbours) that lead from one word to the other, no part edited twice;
 * undefined when there are more than `most`.
 */
export function editDistance(from: string, to: string, most: number): number | undefined {
  if (Math.abs(from.length - to.length) > most) return undefined;
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
    if (Math.min(...current) > most && Math.min(...last) > most) return undefined;
    beforeLast = last;
    last = current;
  }
  const distance = last[to.length] ?? 0;
  return distance <= most ? distance : undefined;
}

/** The nearest known word, the earlier of two equally near; undefined when none is near enough to be meant. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  if (word.length > longest) return undefined;
  const asked = plain(word);
  let nearest: string | undefined;
  let most = Math.min(3, Math.max(1, Math.floor(asked.length / 3)));
  for (const candidate of known) {
    const distance = editDistance(asked, plain(candidate), nearest === undefined ? most : most - 1);
    if (distance === undefined) continue;
    nearest = candidate;
    most = distance;
    if (distance === 0) break;
  }
  return nearest;
}
