// The environment variables of AWS's SDKs: Fairlead ignores none silently, and the AWS page documents each.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { aws } from "../../../providers/aws/index.ts";
import { unknownVariables } from "../../../src/app/configuration/unknown-variables.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";

/**
 * The environment variables of Go manager 1.37.1's SDK (aws-sdk-go-v2, config/env_config.go), except for S3 and its checksums.
 */
const ofSDK = [
  ...["AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN"],
  ...["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"],
  ...["AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"],
  ...["AWS_DEFAULT_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_CA_BUNDLE"],
  ...["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME"],
  ...["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "AWS_EC2_METADATA_SERVICE_ENDPOINT"],
  ...["AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_V1_DISABLED", "AWS_USE_DUALSTACK_ENDPOINT"],
  ...[
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_DEFAULTS_MODE",
    "AWS_MAX_ATTEMPTS",
    "AWS_RETRY_MODE",
    "AWS_SDK_UA_APP_ID",
  ],
  ...["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2"],
  ...["AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING", "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2"],
  ...["AWS_ENDPOINT_URL_STS", "AWS_STS_REGIONAL_ENDPOINTS", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
];
const isRead = (name: string) => Object.values(aws.config).some(({ env }) => env === name);

test.each(ofSDK.filter((name) => !isRead(name)))("the variable %s is ignored with a warning", (name) => {
  // The credentials are set as usual, so that no variable looks like a misspelled name of them.
  const set = { AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x", AWS_REGION: "x", [name]: "x" };
  const problems = unknownVariables(aws as unknown as AnyProvider, set, false);
  expect(problems).toMatchObject([
    {
      severity: "warning",
      key: name,
      text: expect.stringContaining(`${name} is not known, so it has no effect`),
    },
  ]);
});

test("the page of AWS has a row for each variable of the SDK", () => {
  const page = readFileSync(join(import.meta.dir, "../../../docs/clouds/aws.md"), "utf8");
  const [, section = ""] = page.split("## Environment variables\n");
  const [table = ""] = section.split("\n## ");
  const [read = "", ignored = ""] = table.split("| Ignored");
  const named = (text: string) => new Set(text.match(/AWS_[A-Z0-9_]+(?=`)/g));
  expect([...named(read)].filter((name) => !isRead(name))).toEqual([]);
  expect(ofSDK.filter((name) => isRead(name) && !named(read).has(name))).toEqual([]);
  expect(ofSDK.filter((name) => !isRead(name) && !named(ignored).has(name))).toEqual([]);
});
