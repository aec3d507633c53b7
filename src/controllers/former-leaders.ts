// Detects that another process has led between two leadership sessions, so that earlier knowledge of this process may be
// outdated.

/** How often other processes have led with a controller. The count restarts at zero when the Lease is recreated. */
export type FormerLeaders = () => number;

/** Returns a function that reports whether another process has led since its last call, or ever on its first call. */
export function noticesOtherLeaders(formerLeaders: FormerLeaders): () => boolean {
  let known = 0;
  return () => {
    const before = known;
    known = formerLeaders();
    return known !== before;
  };
}
