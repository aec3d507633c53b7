import { describe, expect, test } from "bun:test";
import { ServiceAccountToken } from "../../src/app/service-account-token.ts";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { KubeApi } from "../../src/kube/client/api.ts";
import { KubeError, type KubeErrorKind } from "../../src/kube/errors/kube-error.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const never = new AbortController().signal;

const open = (lifetime = 3600) => {
  const clock = new VirtualClock();
  const requests: string[] = [];
  const failures: KubeErrorKind[] = [];
  const fail = (): void => {
    const kind = failures.shift();
    if (kind !== undefined) throw new KubeError(kind, kind, { operation: "create serviceaccounts/token" });
  };
  const api = {
    request: async ({ path }: { readonly path: string }) => {
      requests.push(path);
      fail();
      const start = Date.parse("2026-01-01T00:00:00Z");
      return {
        metadata: { creationTimestamp: new Date(start).toISOString() },
        status: {
          token: `token-${requests.length}`,
          expirationTimestamp: new Date(start + lifetime * 1000).toISOString(),
        },
      };
    },
    create: async (_: unknown, { metadata }: { readonly metadata: { readonly name: string } }) => {
      requests.push(`create ${metadata.name}`);
      fail();
    },
  } as unknown as Pick<KubeApi, "create" | "request">;
  return { clock, requests, failures, token: new ServiceAccountToken("node-controller", api, clock) };
};
const path = "/api/v1/namespaces/kube-system/serviceaccounts/node-controller/token";

describe("the token of a service account", () => {
  test("requests a service account token once for all callers, and renews it after four fifths of its lifetime", async () => {
    const { clock, requests, token } = open();
    expect(await Promise.all([token.current(never), token.current(never)])).toEqual(["token-1", "token-1"]);
    await clock.advance(minutes(47));
    expect(await token.current(never)).toBe("token-1");
    await clock.advance(minutes(2));
    expect(await token.current(never)).toBe("token-2");
    expect(requests).toEqual([path, path]);
  });

  test("keeps a service account token for eight minutes even if the API server issues a shorter token", async () => {
    const { clock, requests, token } = open(60);
    await token.current(never);
    await clock.advance(seconds(470));
    await token.current(never);
    expect(requests).toHaveLength(1);
  });

  test("requests a new service account token after the API server rejected it", async () => {
    const { token } = open();
    await token.current(never);
    token.invalidate();
    expect(await token.current(never)).toBe("token-2");
  });

  test("creates a missing service account, even if another replica was faster", async () => {
    const { requests, failures, token } = open();
    failures.push("not-found", "already-exists");
    expect(await token.current(never)).toBe("token-3");
    expect(requests).toEqual([path, "create node-controller", path]);
  });

  test("after a failed request, requests a service account token for the next caller", async () => {
    const { failures, token } = open();
    failures.push("forbidden");
    await expect(token.current(never)).rejects.toThrow("forbidden");
    expect(await token.current(never)).toBe("token-2");
  });
});
