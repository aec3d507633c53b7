// Maps an HTTP status to the kind of CloudError. Statuses about the requested object count only when the cloud API itself sent
// them: a proxy in between returns 404 and 400 too. Pure.

import type { CloudErrorKind } from "../provider/errors.ts";

const objectStatuses: ReadonlyMap<number, CloudErrorKind> = new Map([
  [400, "invalid"],
  [404, "not-found"],
  [409, "conflict"],
  [410, "not-found"],
  [412, "conflict"],
  [422, "invalid"],
  [423, "busy"],
]);

const callerStatuses: ReadonlyMap<number, CloudErrorKind> = new Map([
  [401, "unauthorized"],
  [403, "forbidden"],
  [407, "unavailable"],
  [408, "unavailable"],
  [429, "rate-limited"],
]);

export function kindOfStatus(status: number, isFromApi: boolean): CloudErrorKind {
  const callerKind = callerStatuses.get(status);
  if (callerKind !== undefined) return callerKind;
  if (!isFromApi) return "unavailable";
  return objectStatuses.get(status) ?? (status >= 400 && status < 500 ? "invalid" : "unavailable");
}
