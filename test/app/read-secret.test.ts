// A Secret of the cluster that a provider reads by name.

import { expect, test } from "bun:test";
import { secretReader } from "../../src/app/read-secret.ts";
import type { KubeApi, RawRequest } from "../../src/kube/client/api.ts";
import { KubeError } from "../../src/kube/errors/kube-error.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { failureOf } from "../../src/testing/conformance/lab.ts";

const name = { namespace: "kube-system", name: "cloud" };
const call = { signal: new AbortController().signal, urgency: "user-change" } as const;

function reading(answer: (raw: RawRequest) => unknown) {
  const paths: string[] = [];
  const request: KubeApi["request"] = async (raw) => {
    paths.push(`${raw.verb} ${raw.path}`);
    return answer(raw);
  };
  return { paths, read: secretReader(() => ({ request }) as KubeApi) };
}

test("decodes the values of a Secret, and reads the Secret on each call", async () => {
  const { paths, read } = reading(() => ({ data: { user: btoa("admin"), text: "w6TDtg==" } }));
  const values = await read(name, call);
  expect(Object.fromEntries([...(values ?? [])].map(([key, value]) => [key, value.reveal()]))).toEqual({
    user: "admin",
    text: "äö",
  });
  await read(name, call);
  expect(paths).toEqual(Array(2).fill("get /api/v1/namespaces/kube-system/secrets/cloud"));
});

test.each([
  ["not-found", undefined],
  ["forbidden", "forbidden"],
  ["unreachable", "unavailable"],
] as const)("reading a Secret with the API server's answer %s returns %p", async (kind, expected) => {
  const { read } = reading(() => {
    throw new KubeError(kind, "no", { operation: "get secrets" });
  });
  const outcome = await read(name, call).catch((error: unknown) => error);
  expect(CloudError.is(outcome) ? outcome.kind : outcome).toBe(expected);
});

test("names the Secret in the error", async () => {
  const { read } = reading(() => {
    throw new KubeError("forbidden", "no rights", { operation: "get secrets" });
  });
  const error = await failureOf(read(name, call));
  expect(String(error)).toContain(
    "The Secret kube-system/cloud with credentials for the cloud cannot be read: no rights",
  );
});
