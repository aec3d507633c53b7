// The sentences by which a message promises another attempt. An error has its promise as data, because a command that ends makes no
// other attempt.

/** Something that a running manager tries again. */
export const willRetry = "Fairlead will retry.";
/** After the time until which something is not possible. */
export const willRetryThen = "Fairlead will retry then.";
/** For an endpoint that failed several times in a row. */
export const willRetrySoon = "Fairlead will retry within 30 seconds.";
export const keepsRetrying = "Fairlead keeps retrying.";
