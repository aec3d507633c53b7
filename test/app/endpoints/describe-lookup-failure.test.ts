import { expect, test } from "bun:test";
import { describeLookupFailure } from "../../../src/app/endpoints/access-control.ts";

const where = "kube-system/extension-apiserver-authentication";
const silent = { kind: "timeout", message: "A watch of configmaps was silent for 100 s." } as const;
const forbidden = { kind: "forbidden", message: "configmaps is forbidden." } as const;

test("reports any failure to read a ConfigMap that was never read", () => {
  for (const problem of [silent, forbidden]) {
    expect(describeLookupFailure(problem, { where, isKnown: false, isTolerated: false })).toBe(
      `Cannot read the ConfigMap ${where}, so client certificates of the cluster are not accepted on the secure port. Set --client-ca-file, or bind the Role extension-apiserver-authentication-reader. ${problem.message}`,
    );
  }
});

test("does not blame a missing Role for a rejected credential", () => {
  const rejected = { kind: "unauthorized", message: "The client certificate expired." } as const;
  expect(describeLookupFailure(rejected, { where, isKnown: false, isTolerated: false })).toBe(
    `Cannot read the ConfigMap ${where}, so client certificates of the cluster are not accepted on the secure port. The client certificate expired.`,
  );
});

test("reports a failure to reread a ConfigMap only when its permission was removed", () => {
  expect(describeLookupFailure(silent, { where, isKnown: true, isTolerated: false })).toBeUndefined();
  expect(describeLookupFailure(forbidden, { where, isKnown: true, isTolerated: false })).toContain(
    "its last content still applies",
  );
});

test("does not report a missing permission that is tolerated", () => {
  expect(describeLookupFailure(forbidden, { where, isKnown: false, isTolerated: true })).toBeUndefined();
});
