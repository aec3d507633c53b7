// Answers TokenReviews, SubjectAccessReviews and SelfSubjectAccessReviews with the given authenticate and authorize functions.

import { defined } from "../../../core/defined.ts";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "../objects/json.ts";
import type { Identity } from "../objects/kube-object.ts";

export interface AccessRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** For non-resource paths such as /metrics. */
  readonly path: string;
}

export type Authorize = (identity: Identity, request: AccessRequest) => boolean;
type Authenticate = (token: string) => Identity | undefined;

function userInfo({ username, groups, uid }: Identity): JsonObject {
  return defined({ username, uid, groups: [...groups] });
}

function accessRequestIn(spec: JsonObject): AccessRequest {
  const about = objectAt(spec, "resourceAttributes");
  const path = objectAt(spec, "nonResourceAttributes");
  return {
    verb: textAt(about, "verb") || textAt(path, "verb"),
    group: textAt(about, "group"),
    resource: textAt(about, "resource"),
    subresource: textAt(about, "subresource"),
    namespace: textAt(about, "namespace"),
    name: textAt(about, "name"),
    path: textAt(path, "path"),
  };
}

function statusOf(
  plural: string,
  spec: JsonObject,
  identity: Identity,
  authenticate: Authenticate,
  authorize: Authorize,
): JsonObject {
  switch (plural) {
    case "tokenreviews": {
      const found = authenticate(textAt(spec, "token"));
      if (found === undefined) return { user: {}, error: "invalid bearer token" };
      return { authenticated: true, user: userInfo(found) };
    }
    case "subjectaccessreviews": {
      const groups = listAt(spec, "groups").filter((group) => typeof group === "string");
      return { allowed: authorize({ username: textAt(spec, "user"), groups }, accessRequestIn(spec)) };
    }
    default:
      return { allowed: authorize(identity, accessRequestIn(spec)) };
  }
}

export function answerReview(
  review: { readonly group: string; readonly plural: string; readonly kind: string },
  body: JsonObject,
  identity: Identity,
  authenticate: Authenticate,
  authorize: Authorize,
): JsonObject {
  const spec = isObject(body["spec"]) ? body["spec"] : {};
  return defined({
    kind: review.kind,
    apiVersion: `${review.group}/v1`,
    metadata: {},
    spec: body["spec"] === undefined ? undefined : spec,
    status: statusOf(review.plural, spec, identity, authenticate, authorize),
  });
}
