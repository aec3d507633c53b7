// Records every write to the API server and every disruption: the records are printed for a failing seed, and hashed to compare
// two runs of one seed. A recording contains every request and write, to compare two revisions of the manager.

import type { Clock } from "../../src/platform/clock.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/object-store.ts";

interface Line {
  readonly text: string;
  /** Whether the entry is a write to a Node or a disruption; all others only count for the hash. */
  readonly isPrinted: boolean;
}

const maxLines = 400;

/** Receives each request to the API server and the cloud, and every other write, as a line. */
export type RecordLine = (line: string) => void;

export class History {
  /** The replica that is writing; undefined for kubelets, users and the server itself. */
  writer: string | undefined;
  writes = 0;
  /** The time when a replica wrote the provider id of a Node, by the uid of the Node (monotonic). */
  readonly identifiedAt = new Map<string, number>();
  readonly #clock: Clock;
  readonly #server: ApiServer;
  readonly #record: RecordLine | undefined;
  #lines: string[] = [];
  #hash = 0n;

  constructor(clock: Clock, server: ApiServer, record?: RecordLine) {
    this.#clock = clock;
    this.#server = server;
    this.#record = record;
    server.onWrite((change) => this.#noteWrite(change));
  }

  /** The hash of all records so far. */
  get hash(): string {
    return this.#hash.toString(16);
  }

  asWriter<T>(writer: string, work: () => T): T {
    this.writer = writer;
    try {
      return work();
    } finally {
      this.writer = undefined;
    }
  }

  log(text: string): void {
    this.#add({ text, isPrinted: true });
  }

  last(count: number): readonly string[] {
    return this.#lines.slice(-count);
  }

  /** Adds a request to the recording only. */
  noteRequest(sender: string, request: TransportRequest): void {
    if (this.#record === undefined) return;
    const { method, url, body } = request;
    const { pathname, search } = new URL(url);
    const content = typeof body === "string" ? ` ${body}` : "";
    this.#record(`${this.#time} ${sender} ${method} ${pathname}${search}${content}`);
  }

  #noteWrite(change: StoredChange): void {
    this.writes += 1;
    const { type, storage, object, before } = change;
    const who = this.writer ?? "others";
    const name = `${storage}/${object.metadata.name}`;
    this.#hash = BigInt(Bun.hash(this.#server.store.jsonOf(object), this.#hash));
    if (this.writer === undefined) this.#record?.(`${this.#time} ${who} ${type} ${name}`);
    const isIdentified = storage === "nodes" && before?.spec?.["providerID"] !== object.spec?.["providerID"];
    if (isIdentified && this.writer !== undefined)
      this.identifiedAt.set(String(object.metadata.uid), this.#clock.monotonic());
    const isPrinted = storage === "nodes" && (this.writer !== undefined || type !== "MODIFIED");
    this.#add({ text: `${who} ${type} ${name} ${isPrinted ? changed(before, object) : ""}`, isPrinted });
  }

  get #time(): string {
    return (this.#clock.monotonic() / 1000).toFixed(3).padStart(9);
  }

  #add({ text, isPrinted }: Line): void {
    const line = `${this.#time} ${text}`;
    this.#hash = BigInt(Bun.hash(line, this.#hash));
    if (!isPrinted) return;
    this.#lines.push(line);
    if (this.#lines.length > 2 * maxLines) this.#lines = this.#lines.slice(-maxLines);
  }
}

/** The fields that differ, with their new values. */
const changed = (before: unknown, after: unknown, path = ""): string => {
  if (before === undefined || after === undefined || typeof after !== "object" || after === null) {
    return JSON.stringify(before) === JSON.stringify(after) ? "" : `${path}=${JSON.stringify(after)} `;
  }
  if (Array.isArray(after) || typeof before !== "object" || before === null) {
    return JSON.stringify(before) === JSON.stringify(after) ? "" : `${path}=${JSON.stringify(after)} `;
  }
  const one = before as Readonly<Record<string, unknown>>;
  const other = after as Readonly<Record<string, unknown>>;
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (key) => !["resourceVersion", "managedFields"].includes(key),
  );
  return keys.map((key) => changed(one[key], other[key], `${path}.${key}`)).join("");
};
