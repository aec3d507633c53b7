// The sentences by which a message promises another attempt, and how a command that ends leaves them out. Pure.

import { withoutFullStop } from "./text.ts";

/** The end of a message about something that a running manager tries again. */
export const willRetry = "Fairlead will retry.";
/** After the time until which something is not possible. */
export const willRetryThen = "Fairlead will retry then.";
/** For an endpoint that failed several times in a row. */
export const willRetrySoon = "Fairlead will retry within 30 seconds.";
export const keepsRetrying = "Fairlead keeps retrying.";

/** No promise may begin with an earlier one. */
const promises: readonly string[] = [willRetrySoon, willRetryThen, willRetry, keepsRetrying];

/** The promise may be a sentence, the end of one, or in a message that was put into another one without its full stop. */
export function withoutRetryPromise(message: string): string {
  return promises.reduce(
    (text, promise) =>
      text
        .replaceAll(`; ${promise}`, ".")
        .replaceAll(` ${promise}`, "")
        .replaceAll(` ${withoutFullStop(promise)}`, ""),
    message,
  );
}
