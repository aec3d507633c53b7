// A fast hash of a text, for short names and for a stable order. Not for secrets. Pure.

/** A 32-bit FNV-1a hash over UTF-16 units, and a finisher that spreads similar texts. */
export const hash = (text: string): number => finish(extend(0x811c9dc5, text));

/** Hashes a prefix and a text. The prefix is processed once for many texts. */
export function hashAfter(prefix: string): (text: string) => number {
  const begun = extend(0x811c9dc5, prefix);
  return (text) => finish(extend(begun, text));
}

function extend(state: number, text: string): number {
  let next = state;
  for (let index = 0; index < text.length; index++) {
    next = Math.imul(next ^ text.charCodeAt(index), 0x01000193);
  }
  return next;
}

function finish(state: number): number {
  let next = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  next = Math.imul(next ^ (next >>> 13), 0xc2b2ae35);
  return (next ^ (next >>> 16)) >>> 0;
}
