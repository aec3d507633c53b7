// The part of a page written by hand that is generated, between two comments. Pure.

/** The page with another content between the comments. */
export function withGenerated(page: string, begin: string, end: string, content: string): string {
  const start = page.indexOf(begin);
  const stop = page.indexOf(end, start);
  if (start === -1 || stop === -1) throw new Error(`The page has no ${begin} with ${end} after it.`);
  return `${page.slice(0, start)}${begin}\n\n${content}\n\n${page.slice(stop)}`;
}
