// The sentences that promise another attempt. An error carries its promise as data, because a
// command that ends makes no further attempt.

/** The promise of a running manager to retry. */
export const willRetry = "Fairlead will retry.";
/** Follows a sentence that states until when something is impossible. */
export const willRetryThen = "Fairlead will retry then.";
/** The promise for an endpoint that failed several times in a row. */
export const willRetrySoon = "Fairlead will retry within 30 seconds.";
export const keepsRetrying = "Fairlead keeps retrying.";
