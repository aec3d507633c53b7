// Messages of the manager say that it tries again. A command that ends does not. Pure.

/** The message without a last sentence that promises another attempt. */
export function withoutRetry(message: string): string {
  return message.replace(/ Fairlead (?:keeps retrying|will retry)[^.]*\.?$/, "");
}
