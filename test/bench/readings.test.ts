// Tests what the benchmarks read: watch lines, API server metrics, and the memory of a process.

import { describe, expect, test } from "bun:test";
import { NameReader } from "../../scripts/bench/read-names.ts";
import { readResidentMemory } from "../../scripts/bench/resident-memory.ts";
import { readServerRequests } from "../../scripts/bench/server-requests.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const line = (name: string, version: number): string =>
  `{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"${name}","uid":"u","resourceVersion":"${version}"}}}\n`;

describe("names in a watch", () => {
  test("reads names in a watch with their versions, wherever the chunks are split", () => {
    const text = bytes(line("node-ä", 7) + line("node-b", 8));
    for (let at = 0; at <= text.length; at += 1) {
      const reader = new NameReader();
      expect([...reader.read(text.slice(0, at)), ...reader.read(text.slice(at))]).toMatchObject([
        { name: "node-ä", resourceVersion: "7" },
        { name: "node-b", resourceVersion: "8" },
      ]);
    }
  });

  test("reads names in a watch when long labels precede the version", () => {
    const labels = JSON.stringify({ a: "x".repeat(3000) });
    const object = `{"metadata":{"name":"n","labels":${labels},"resourceVersion":"7"},"spec":{}}`;
    const reader = new NameReader();
    expect(reader.read(bytes(`{"type":"ADDED","object":${object}}\n`))).toMatchObject([
      { name: "n", resourceVersion: "7" },
    ]);
  });

  test("reads an ERROR event as gone, and ignores a bookmark", () => {
    const error = '{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"code":410}}\n';
    const bookmark = '{"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"9"}}}\n';
    expect(new NameReader().read(bytes(error + bookmark))).toEqual(["gone"]);
  });
});

test("readServerRequests counts all reads and writes, and only accepted Node patches and created events", () => {
  const counter = (labels: string, value: number): string => `apiserver_request_total{${labels}} ${value}\n`;
  const page = [
    "# TYPE apiserver_request_total counter\n",
    counter(
      'code="200",dry_run="",group="",resource="nodes",scope="resource",subresource="",verb="PATCH"',
      1200,
    ),
    counter('code="200",resource="nodes",subresource="status",verb="PATCH"', 1300),
    counter('code="409",resource="nodes",subresource="",verb="PATCH"', 5),
    counter('code="200",resource="nodes",subresource="",verb="LIST"', 9),
    counter('code="0",resource="nodes",subresource="",verb="WATCH"', 7),
    counter('code="200",resource="leases",subresource="",verb="PUT"', 70),
    counter('code="201",resource="events",subresource="",verb="POST"', 1.1e3),
  ].join("");
  expect(readServerRequests(page)).toEqual({ nodes: 1200, events: 1100, reads: 9, writes: 3605 });
});

test("readResidentMemory separates private memory from pages of the executable", () => {
  const mapping = (path: string, rss: number, own: number): string =>
    `00400000-00500000 r-xp 00000000 fe:00 42 ${path}\nSize: 9999 kB\nRss: ${rss} kB\nAnonymous: ${own} kB\n`;
  const smaps = [
    mapping("/opt/some manager", 4096, 0),
    mapping("/opt/some manager", 2048, 1024),
    mapping("/lib/libc.so.6", 1024, 0),
    mapping("", 8192, 8192),
  ].join("");
  expect(readResidentMemory(smaps, "/opt/some manager")).toEqual({
    totalMiB: 15,
    ownMiB: 9,
    executableMiB: 5,
  });
});
