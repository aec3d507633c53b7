import { expect, test } from "bun:test";
import { describeLookupFailure } from "../../../src/app/endpoints/access-control.ts";

const where = "kube-system/extension-apiserver-authentication";
const silent = { kind: "timeout", message: "A watch of configmaps was silent for 100 s." } as const;
const forbidden = { kind: "forbidden", message: "configmaps is forbidden." } as const;

test("a ConfigMap that was never read is reported for any failure", () => {
  for (const problem of [silent, forbidden]) {
    expect(describeLookupFailure(problem, { where, isKnown: false, isTolerated: false })).toBe(
      `Cannot read the ConfigMap ${where}, so client certificates of the cluster are not accepted on the secure port. Set --client-ca-file, or bind the Role extension-apiserver-authentication-reader. ${problem.message}`,
    );
  }
});

test("a rejected credential is not blamed on a missing Role", () => {
  const rejected = { kind: "unauthorized", message: "The client certificate expired." } as const;
  expect(describeLookupFailure(rejected, { where, isKnown: false, isTolerated: false })).toBe(
    `Cannot read the ConfigMap ${where}, so client certificates of the cluster are not accepted on the secure port. The client certificate expired.`,
  );
});

test("a ConfigMap that was read before is reported only when its permission was removed", () => {
  expect(describeLookupFailure(silent, { where, isKnown: true, isTolerated: false })).toBeUndefined();
  expect(describeLookupFailure(forbidden, { where, isKnown: true, isTolerated: false })).toContain(
    "its last content still applies",
  );
});

test("a missing permission is not reported when it is tolerated", () => {
  expect(describeLookupFailure(forbidden, { where, isKnown: false, isTolerated: true })).toBeUndefined();
});
