// A fast hash of a text, for short names and for an order that does not change. Not for secrets. Pure.

/** 32 bits: FNV-1a over UTF-16 units, then a finisher that spreads similar texts. */
export const hash = (text: string): number => finish(extend(0x811c9dc5, text));

/** The hash of the prefix and a text: the prefix is read once for many texts. */
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
