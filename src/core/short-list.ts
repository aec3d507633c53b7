// A list for one line of a log: whole items only, as many as fit, and the number of those left out. Pure.

const longest = 400;
/** One item may not fill the line, nor break it. */
const longestItem = 160;

function onItsOwn(item: string): string {
  const plain = item.replaceAll(/\s+/g, " ");
  return plain.length > longestItem ? `${plain.slice(0, longestItem - 1)}…` : plain;
}

export function shortList(items: readonly string[], atMost: number = longest): string {
  // Kept free for "… and 12345 more".
  const room = atMost - 20;
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = index === 0 ? onItsOwn(item) : `${text}, ${onItsOwn(item)}`;
    const isLast = index === items.length - 1;
    if (index > 0 && next.length > (isLast ? atMost : room))
      return `${text}, … and ${items.length - index} more`;
    text = next;
  }
  return text;
}
