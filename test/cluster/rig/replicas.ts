// Three replicas of a manager, each with an identity of its own in the cluster and in the cloud, so that a test knows who wrote what and when.

import { closeSync, openSync, readSync } from "node:fs";
import { writeKubeconfig } from "../../../src/testing/apiserver/serving/https-server.ts";
import type { Cluster } from "./cluster.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { KeptProcess } from "./kept-process.ts";

export interface Write {
  /** The name of the replica. */
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
  /** Of a request to the API server, with the namespace. */
  readonly object?: string;
  /** Of a request to the API server: the status, or why there is none. */
  readonly code?: string;
  /** Of a request to the cloud: why there is no response. */
  readonly failure?: string;
}

/** Of a request that was not sent. */
const refusals = ["fenced", "breaker"];

const writing = ["create", "update", "patch", "delete"];
const flags = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=500ms",
  // Logs each request when it ends, with the time that it took.
  "--v=4",
  "--logging-format=json",
];

export class Replica {
  readonly name: string;
  readonly #start: () => KeptProcess;
  #process: KeptProcess;

  constructor(name: string, start: () => KeptProcess) {
    this.name = name;
    this.#start = start;
    this.#process = start();
  }

  leads(): boolean {
    const log = this.#process.output();
    return log.lastIndexOf("Acquired leadership") > log.lastIndexOf("Lost leadership");
  }

  signal(name: NodeJS.Signals): void {
    this.#process.signal(name);
  }

  /** Starts it again after its process has ended. */
  async again(): Promise<number> {
    const code = await this.#process.exited;
    this.#process = this.#start();
    return code;
  }

  /** Those of these writes whose request was not sent before this moment, nor after it led again, by the log of this replica. */
  begunSince(moment: number, writes: readonly Write[]): readonly Write[] {
    const lines = this.#process.output().split("\n");
    const parsed = lines
      .filter((line) => line.startsWith("{") && /"milliseconds"|Acquired leadership/.test(line))
      .map((line) => JSON.parse(line) as LogLine);
    const again = parsed.find(({ ts, msg }) => ts > moment && msg === "Acquired leadership");
    const sentBefore = parsed.filter(
      ({ ts, milliseconds, code, failure }) =>
        milliseconds !== undefined &&
        ts - milliseconds <= moment &&
        !refusals.includes(code ?? failure ?? ""),
    );
    return writes.filter(({ what, at, object: written }) => {
      if (again !== undefined && at >= again.ts) return false;
      const index = sentBefore.findIndex(({ msg, ts, object, code, failure }) => {
        // An aborted request is logged at once, and arrives later.
        const mayArriveNow = ts >= at || (code ?? failure) === "aborted";
        return msg === what && mayArriveNow && (object === undefined || object.endsWith(written));
      });
      // A request explains one write.
      return index === -1 || sentBefore.splice(index, 1).length === 0;
    });
  }
}

export class Replicas {
  readonly all: readonly Replica[];
  readonly #audit: number;
  readonly #lease: string;
  readonly #writes: Write[] = [];
  #rest = "";

  /** The control plane must write an audit log. */
  constructor(cluster: Cluster, plane: ControlPlane) {
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
      const own = [...flags, `--config-set=token=${name}`];
      return new Replica(name, () => cluster.manager({ kubeconfig, flags: own }));
    });
  }

  /** The leader, unless it is `except`. */
  leader(except?: Replica): Replica | undefined {
    return this.all.find((each) => each !== except && each.leads());
  }

  /** All writes to the cloud and the cluster so far, without Leases and the events about them. */
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
