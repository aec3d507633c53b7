// Three replicas of a manager, each with its own identity in the cluster and in the cloud, so that a
// test knows who wrote what and when.

import { closeSync, openSync, readSync } from "node:fs";
import { defined } from "../../../src/core/defined.ts";
import { writeKubeconfig } from "../../../src/testing/apiserver/serving/https-server.ts";
import type { Cluster } from "./cluster.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { KeptProcess } from "./kept-process.ts";

export interface Write {
  /** The replica's name. */
  readonly by: string;
  /** When the cloud or the API server received it, by the wall clock. */
  readonly at: number;
  /** As the replica logs the request, such as `API server: patch nodes`. */
  readonly what: string;
  readonly object: string;
}

interface AuditEvent {
  readonly requestReceivedTimestamp: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
}

interface LogLine {
  readonly ts: number;
  readonly msg: string;
  readonly milliseconds?: number;
  /** The object of an API server request, with its namespace. */
  readonly object?: string;
  /** The status of an API server request, or why there is none. */
  readonly code?: string;
  /** Why a cloud request has no response. */
  readonly failure?: string;
}

const writing = ["create", "update", "patch", "delete"];
const flags = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=500ms",
  // Logs each request when it ends, with the time that it took.
  "--v=4",
  "--logging-format=json",
];

/** Failures of requests that were not sent. */
const refusals = ["fenced", "breaker"];
const isOfWrite = /^(?:API server: (?:create|update|patch|delete) |Cloud: (?!GET ))/;
const aboutLeading = /^(?:Acquired|Lost) leadership/;
/** A pause, and the abort of requests that were sent shortly before. */
const abortedMs = 10_000;
/** Writes that ended earlier do not explain a write that arrives now. */
const keptMs = 120_000;

/** A replica's writes and leadership according to its log, which is read while it grows. */
class ReplicaLog {
  #rest = "";
  #lines: LogLine[] = [];
  leads = false;

  /** Called for a new process. */
  begin(): void {
    this.#rest = "";
    this.leads = false;
  }

  add(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const parsed = JSON.parse(line) as LogLine;
      const concernsLeading = aboutLeading.test(parsed.msg);
      if (concernsLeading) this.leads = parsed.msg.startsWith("Acquired");
      if (concernsLeading || isOfWrite.test(parsed.msg)) this.#lines.push(parsed);
    }
    const oldest = Date.now() - keptMs;
    if ((this.#lines[0]?.ts ?? oldest) < oldest - keptMs)
      this.#lines = this.#lines.filter(({ ts }) => ts >= oldest);
  }

  /** The writes whose request was not sent before this moment, nor after the replica led again. */
  begunSince(moment: number, writes: readonly Write[]): readonly Write[] {
    const again = this.#lines.find(({ ts, msg }) => ts > moment && msg.startsWith("Acquired"));
    const sentBefore = this.#lines.filter(
      ({ ts, milliseconds, code, failure }) =>
        milliseconds !== undefined &&
        ts - milliseconds <= moment &&
        !refusals.includes(code ?? failure ?? ""),
    );
    return writes.filter(({ what, at, object: written }) => {
      if (again !== undefined && at >= again.ts) return false;
      const index = sentBefore.findIndex(({ msg, ts, object, code, failure }) => {
        // An aborted request is logged immediately, and may arrive later.
        const mayArriveNow = ts >= at || ((code ?? failure) === "aborted" && ts > moment - abortedMs);
        return msg === what && mayArriveNow && (object === undefined || object.endsWith(written));
      });
      // Each request explains one write.
      return index === -1 || sentBefore.splice(index, 1).length === 0;
    });
  }

  /** The writes, and what the log reports about them and the Lease. */
  explain(writes: readonly Write[]): string {
    const lines = this.#lines.filter(
      ({ msg, object }) =>
        aboutLeading.test(msg) ||
        writes.some((write) => object?.endsWith(write.object) ?? msg === write.what),
    );
    return [...writes, ...lines.slice(-100)].map((one) => JSON.stringify(one)).join("\n");
  }
}

type Start = (onOutput: (text: string) => void, executable?: string) => KeptProcess;

export class Replica {
  readonly name: string;
  readonly log = new ReplicaLog();
  readonly #start: Start;
  #process: KeptProcess;

  constructor(name: string, start: Start) {
    this.name = name;
    this.#start = start;
    this.#process = start((text) => this.log.add(text));
  }

  signal(name: NodeJS.Signals): void {
    this.#process.signal(name);
  }

  /** Restarts the replica after its process has ended, with another executable if given. */
  async again(executable?: string): Promise<number> {
    const code = await this.#process.exited;
    this.log.begin();
    this.#process = this.#start((text) => this.log.add(text), executable);
    return code;
  }
}

export interface ReplicaOptions {
  /** By default, the executable under test. */
  readonly executable?: string;
  readonly flags?: readonly string[];
}

export class Replicas {
  readonly all: readonly Replica[];
  readonly #audit: number;
  readonly #lease: string;
  readonly #writes: Write[] = [];
  #rest = "";

  /** The control plane must write an audit log. */
  constructor(
    cluster: Cluster,
    plane: ControlPlane,
    { executable, flags: moreFlags = [] }: ReplicaOptions = {},
  ) {
    this.#audit = openSync(plane.auditLog, "r");
    this.#lease = cluster.leaseName;
    const { cloud } = cluster;
    const handle = cloud.handle.bind(cloud);
    cloud.handle = (query, token = "") => {
      const { method, path } = query;
      const what = `Cloud: ${method} ${path.replace(/(?<=\/\w+\/).*$/, "{id}")}`;
      if (method !== "GET") this.#writes.push({ by: token, at: Date.now(), what, object: path });
      return handle(query, token);
    };
    this.all = ["replica-1", "replica-2", "replica-3"].map((name) => {
      const user = { name, server: plane.server, ...plane.issue(name, ["system:masters"]) };
      const kubeconfig = cluster.file(name, writeKubeconfig(plane.ca, [user]));
      const own = [...flags, `--config-set=token=${name}`, ...moreFlags];
      return new Replica(name, (onOutput, other = executable) =>
        cluster.manager(defined({ kubeconfig, flags: own, onOutput, executable: other })),
      );
    });
  }

  /** The leader, unless it is `except`. */
  leader(except?: Replica): Replica | undefined {
    return this.all.find((each) => each !== except && each.log.leads);
  }

  /** All writes to the cloud and the cluster so far, except Leases and their events. */
  writes(): readonly Write[] {
    this.#readAudit();
    return this.#writes;
  }

  [Symbol.dispose](): void {
    closeSync(this.#audit);
  }

  #readAudit(): void {
    const buffer = Buffer.alloc(1 << 20);
    for (let size = readSync(this.#audit, buffer); size > 0; size = readSync(this.#audit, buffer))
      this.#rest += buffer.toString("latin1", 0, size);
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const { requestReceivedTimestamp, verb, user, objectRef } = JSON.parse(line) as AuditEvent;
      if (!writing.includes(verb) || !user.username.startsWith("replica-") || objectRef === undefined)
        continue;
      const { resource, subresource, name = "" } = objectRef;
      if (resource === "leases" || name.startsWith(this.#lease)) continue;
      const what = `API server: ${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
      const at = Date.parse(requestReceivedTimestamp);
      this.#writes.push({ by: user.username, at, what, object: name });
    }
  }
}
