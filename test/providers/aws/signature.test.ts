// Signatures, checked against the examples that AWS publishes.

import { expect, test } from "bun:test";
import { Secret } from "#ccm";
import { signed } from "../../../providers/aws/api/signature.ts";

const key = { id: "AKIDEXAMPLE", secret: new Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY") };
const now = Date.UTC(2015, 7, 30, 12, 36);
const request = { operation: "Test", mutates: false } as const;

function signatureOf(sent: ReturnType<typeof signed>): string | undefined {
  return /Signature=(\w+)$/.exec(sent.headers?.["authorization"] ?? "")?.[1];
}

test("creates the signatures that AWS publishes for its examples [F70]", () => {
  const form = "application/x-www-form-urlencoded";
  const listUsers = signed(
    {
      ...request,
      method: "GET",
      url: "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
      headers: { "Content-Type": `${form}; charset=utf-8` },
    },
    key,
    { region: "us-east-1", service: "iam" },
    now,
  );
  expect(signatureOf(listUsers)).toBe("5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
  expect(listUsers.headers?.["authorization"]).toStartWith(
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=",
  );
  const post = signed(
    {
      ...request,
      method: "POST",
      url: "https://example.amazonaws.com/",
      headers: { "content-type": form },
      body: "Param1=value1",
    },
    key,
    { region: "us-east-1", service: "service" },
    now,
  );
  expect(signatureOf(post)).toBe("ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
});

test("signs the session token of temporary keys", () => {
  const temporary = { ...key, sessionToken: new Secret("the-token") };
  const sent = signed(
    { ...request, method: "POST", url: "http://127.0.0.1:5000/", body: "a=b" },
    temporary,
    { region: "us-east-1", service: "ec2" },
    now,
  );
  expect(sent.headers?.["x-amz-security-token"]).toBe("the-token");
  expect(sent.headers?.["authorization"]).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,");
});
