// The usual credentials of requests, and the response to a request for an object that may not exist.

import { expect, test } from "bun:test";
import { Secret } from "../../src/core/secret.ts";
import { ifFound } from "../../src/kit/lookups.ts";
import { basic, bearer } from "../../src/kit/sign.ts";
import type { CloudRequest } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";

const request: CloudRequest = {
  operation: "GET /things",
  mutates: false,
  method: "GET",
  url: "https://api.example/things",
  headers: { accept: "application/json" },
};

test("adds a bearer token to the headers of a request", () => {
  expect(bearer(request, new Secret("t0ken"))).toEqual({
    ...request,
    headers: { accept: "application/json", authorization: "Bearer t0ken" },
  });
});

test("adds user and password to the headers of a request", () => {
  const { headers } = basic(request, { user: "me", password: new Secret("pa:ss") });
  expect(headers).toEqual({ accept: "application/json", authorization: `Basic ${btoa("me:pa:ss")}` });
});

test("returns no object when the cloud reports that it does not exist, and throws any other error", async () => {
  const fails = (kind: "not-found" | "unavailable") =>
    Promise.reject(new CloudError(kind, "no", { operation: "GET /things/{id}" }));
  expect(await ifFound(Promise.resolve({ id: 1 }))).toEqual({ id: 1 });
  expect(await ifFound(fails("not-found"))).toBeUndefined();
  expect(ifFound(fails("unavailable"))).rejects.toThrow("no");
});
