// Which kind of CloudError a status is. Statuses that say something about the thing asked for count only when the cloud
// itself said them: a proxy on the way answers 404 and 400 too, and knows nothing of machines.

import type { CloudErrorKind } from "../provider/errors.ts";

const aboutTheThing: ReadonlyMap<number, CloudErrorKind> = new Map([
  [400, "invalid"],
  [404, "not-found"],
  [409, "conflict"],
  [410, "not-found"],
  [412, "conflict"],
  [422, "invalid"],
  [423, "busy"],
]);

const aboutTheCaller: ReadonlyMap<number, CloudErrorKind> = new Map([
  [401, "unauthorized"],
  [403, "forbidden"],
  [407, "unavailable"],
  [408, "unavailable"],
  [429, "rate-limited"],
]);

export function kindOfStatus(status: number, isOurs: boolean): CloudErrorKind {
  const ofCaller = aboutTheCaller.get(status);
  if (ofCaller !== undefined) return ofCaller;
  if (!isOurs) return "unavailable";
  return aboutTheThing.get(status) ?? (status >= 400 && status < 500 ? "invalid" : "unavailable");
}
