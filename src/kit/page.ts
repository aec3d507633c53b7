// What a provider reads from the response to a request for one page of a listing.

/** One page of a listing, as the provider reads it from a response. */
export interface Page<T> {
  /** Anything except an array makes the listing fail, so pass on the field of the body unchecked. */
  readonly items: readonly T[] | undefined;
  /**
   * The total number of entries, if the cloud reports it. A listing with fewer entries fails, and `pagesByNumber` requests several
   * pages at once.
   */
  readonly total?: number | undefined;
}

/** One page with the number of the next one: undefined or null after the last page. */
export interface NumberedPage<T> extends Page<T> {
  readonly next: number | null | undefined;
}
