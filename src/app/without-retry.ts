// Messages of a manager for commands that end: without the promise of another attempt. Pure.

export function withoutRetry(message: string): string {
  return message.replaceAll(/ Fairlead (?:keeps retrying|will retry)[^.]*(?:\.|$)/g, "");
}
