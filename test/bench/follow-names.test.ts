// Tests the observer of the benchmarks, because a name that it misses or reads late would look like a slow manager.

import { expect, mock, test } from "bun:test";
import { FollowedNames } from "../../scripts/bench/follow-names.ts";
import type { KubeApi } from "../../src/kube/client/api.ts";
import { nodes } from "../../src/kube/resources.ts";

const line = (name: string, version: number): string =>
  `{"type":"ADDED","object":{"metadata":{"name":"${name}","resourceVersion":"${version}"}}}\n`;
const gone = '{"type":"ERROR","object":{"kind":"Status","metadata":{},"code":410}}\n';

test("FollowedNames reopens a watch from its last resource version, and from the start after a 410", async () => {
  const end = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  const reported = [line("a", 7) + line("b", 9), line("c", 12) + gone, line("a", 7) + line("d", 15)];
  const openWatch = async (_: unknown, { query }: { readonly query: Readonly<Record<string, unknown>> }) => {
    asked.push(query["resourceVersion"]);
    const text = reported[asked.length - 1];
    if (text === undefined) {
      end.resolve();
      throw new Error("The test is over.");
    }
    return { body: new Blob([text]).stream(), close: () => undefined };
  };
  using followed = new FollowedNames({ openWatch } as unknown as KubeApi, nodes, {});
  await followed.opened;
  await end.promise;
  expect(asked).toEqual(["0", "9", "0", "15"]);
  expect([...followed.seenAt.keys()]).toEqual(["a", "b", "c", "d"]);
  expect(followed.openings).toBe(3);
});

test("FollowedNames records an object when one of its lines contains the text", async () => {
  const lines = line("a", 7) + line("b", 8) + line("a", 9).replace("}}}", '},"status":{"ingress":[]}}}');
  const reopened = Promise.withResolvers<void>();
  const openWatch = mock(() => {
    reopened.resolve();
    return new Promise(() => undefined);
  }).mockImplementationOnce(async () => ({ body: new Blob([lines]).stream(), close: () => undefined }));
  using followed = new FollowedNames({ openWatch } as unknown as KubeApi, nodes, { text: '"ingress":[' });
  await reopened.promise;
  expect([...followed.seenAt.keys()]).toEqual(["a"]);
});

test("FollowedNames fails when the first watch cannot be opened", async () => {
  const openWatch = () => Promise.reject(new Error("refused"));
  using followed = new FollowedNames({ openWatch } as unknown as KubeApi, nodes, {});
  await expect(followed.opened).rejects.toThrow("refused");
});
