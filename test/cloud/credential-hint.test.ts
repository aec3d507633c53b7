import { expect, test } from "bun:test";
import { credentialHint } from "../../src/cloud/credential-hint.ts";
import { secret, text } from "../../src/core/fields.ts";

const fields = {
  endpoint: text("URL of the API."),
  token: secret("API token.", { required: true, env: "ACME_TOKEN" }),
};

test.each([
  ["Set token or ACME_TOKEN; none is set.", {}],
  ["Check token or ACME_TOKEN.", { token: "x" }],
])("rejected credentials: %s", (hint, raw) => {
  expect(credentialHint(fields, raw)).toBe(hint);
});

test("rejected credentials of a provider without secrets have no hint", () => {
  expect(credentialHint({ endpoint: fields.endpoint }, {})).toBeUndefined();
});
