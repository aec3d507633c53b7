// Operations on objects of an API server, as porcupine reads them, and the program that runs it.

import { goProgram } from "../rig/install.ts";

export interface Operation {
  /** The resource, the namespace and the name. */
  readonly object: string;
  readonly client: string;
  readonly operation: "read" | "create" | "update" | "delete";
  /** The version that the request requires. */
  readonly expected?: number;
  /** The time of the request, and that of the answer if the client received one. */
  readonly call: number;
  readonly return?: number;
  /** Without a result, it is unknown whether the operation took effect. */
  readonly result?: "done" | "absent" | "conflict";
  /** The version in the answer; undefined if the object is gone. */
  readonly version?: number;
  /** The object's content, if known. */
  readonly content?: string;
}

export type Request = Pick<Operation, "object" | "operation" | "expected" | "content">;
export type Answer = Pick<Operation, "result" | "version" | "content">;

/** The parts of an object, a patch or a status that the operations need. */
interface Body {
  readonly kind?: string;
  readonly metadata?: Name & {
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly preconditions?: { readonly resourceVersion?: string };
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string };
}

interface Name {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

interface Target extends Name {
  readonly verb: string;
  readonly resource: string;
}

const operations: Readonly<Record<string, Operation["operation"]>> = {
  get: "read",
  create: "create",
  update: "update",
  patch: "update",
  delete: "delete",
};

export function objectOf(resource: string, { namespace = "", name = "" }: Name): string {
  return `${resource}/${namespace}/${name}`;
}

/** The request for one object; undefined for lists and watches. */
export function requestOf({ verb, resource, namespace, name }: Target, body: unknown): Request | undefined {
  const { metadata, preconditions } = (body ?? {}) as Body;
  const operation = operations[verb];
  if (operation === undefined) return undefined;
  const object = objectOf(resource, { namespace, name: name || metadata?.name });
  const tested = Array.isArray(body)
    ? body.find(({ op, path }) => op === "test" && path === "/metadata/resourceVersion")?.value
    : (preconditions ?? metadata)?.resourceVersion;
  return {
    object,
    operation,
    ...(operation !== "create" && tested !== undefined && { expected: Number(tested) }),
    ...contentOf(object, body),
  };
}

/** The answer; empty if the request may take effect, undefined if it is rejected whatever the object is. */
export function answerOf(object: string, status: number, body: unknown): Answer | undefined {
  if (status >= 500) return {};
  if (status === 404) return { result: "absent" };
  if (status === 409) return { result: "conflict" };
  if (status >= 400) return undefined;
  const { kind, metadata } = (body ?? {}) as Body;
  // The change that removes the last finalizer of a deleted object is answered with the object.
  const isLast = metadata?.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
  if (kind === "Status" || isLast) return { result: "done" };
  return { result: "done", version: Number(metadata?.resourceVersion), ...contentOf(object, body) };
}

/** Each renewal of a Lease has another time. */
function contentOf(object: string, body: unknown): Pick<Operation, "content"> {
  const { spec } = (body ?? {}) as Body;
  return object.startsWith("leases/") && spec !== undefined
    ? { content: `${spec.holderIdentity ?? ""} ${spec.renewTime ?? ""}` }
    : {};
}

export const linearizabilityChecker = (): string => goProgram(import.meta.dir);

/** The porcupine report for each object, and a line with the numbers. */
export function checkWith(program: string, history: readonly Operation[]): string {
  const lines = history.map((operation) => JSON.stringify(operation)).join("\n");
  const { stdout, stderr } = Bun.spawnSync([program], { stdin: Buffer.from(lines) });
  return `${stdout}${stderr}`.trim();
}
