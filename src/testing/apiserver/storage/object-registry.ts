// Creates, updates, patches and deletes objects by the server's rules: system metadata, conflicts, subresources, finalizers, and
// no write without a change. Synchronous and independent of HTTP; kubelets, tests and api-server.ts use it.

import { defined } from "../../../core/defined.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  invalidValue,
  notFound,
} from "../objects/api-error.ts";
import { isSame, type Json, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import { type KubeObject, type ObjectMeta, timestamp } from "../objects/kube-object.ts";
import { type Resource, resourceNamed, resources } from "../objects/resource-table.ts";
import { type DecodeOptions, decodeObject, decodePatched } from "../validation/decode-object.ts";
import { rulesFor } from "../validation/object-rules.ts";
import { createMetaCauses, updateMetaCauses } from "../validation/rules.ts";
import { ServiceAllocator } from "../validation/service-allocator.ts";
import { mergeUpdate, shareUnchanged, withGeneration } from "./merge-update.ts";
import type { Store } from "./object-store.ts";

export interface WriteOptions extends DecodeOptions {
  readonly dryRun?: boolean;
  /** The name of the client in managed fields. */
  readonly manager?: string;
}

/** The metadata fields that the preconditions of a deletion compare. */
const preconditionTexts = [
  ["uid", "UID", "deleted and then recreated"],
  ["resourceVersion", "ResourceVersion", "modified"],
] as const;

interface RegistryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const modified =
  "the object has been modified; please apply your changes to the latest version and try again";
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789";

export class ObjectRegistry {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #allocator: ServiceAllocator;

  constructor({ store, clock, random }: RegistryDeps) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.#allocator = new ServiceAllocator(random);
    store.onWrite(({ storage, type, object, before }) => {
      if (storage === "services") this.#allocator.follow(before, type === "DELETED" ? undefined : object);
    });
  }

  get(resource: Resource, namespace: string, name: string): KubeObject {
    const stored = this.#store.get(resource.plural, namespace, name);
    if (stored === undefined) throw notFound(resource, name);
    return stored;
  }

  create(resource: Resource, namespace: string, given: JsonObject, options: WriteOptions = {}): KubeObject {
    const decoded = decodeObject(resource, given, undefined, options);
    const meta = objectAt(decoded, "metadata");
    const place = this.#namespaceOf(resource, namespace, textAt(meta, "namespace"));
    const generateName = textAt(meta, "generateName");
    const name = textAt(meta, "name") || (generateName === "" ? "" : this.#generate(generateName));
    if (textAt(meta, "resourceVersion") !== "") {
      throw badRequest("resourceVersion should not be set on objects to be created");
    }
    const { deletionTimestamp: _, deletionGracePeriodSeconds: __, ...kept } = meta;
    const metadata = defined({
      ...kept,
      name,
      namespace: place || undefined,
      uid: this.#random.uuid(),
      resourceVersion: "",
      creationTimestamp: timestamp(this.#clock.now()),
      generation: resource.tracksGeneration === true ? 1 : undefined,
    }) as ObjectMeta;
    const rules = rulesFor(resource.plural);
    const draft = { ...decoded, metadata } as KubeObject;
    const object = rules.defaults?.(draft, undefined) ?? draft;
    const causes = [...createMetaCauses(resource, object), ...(rules.validate?.(object, undefined) ?? [])];
    if (causes.length > 0) throw invalid(resource.kind, resource.group, name, causes);
    if (this.#store.get(resource.plural, place, name) !== undefined) throw alreadyExists(resource, name);
    const ready = this.#allocate(resource, object, undefined);
    return this.#put(resource, ready, options);
  }

  /** Replaces the whole object. Some kinds are created if they do not exist. */
  update(
    resource: Resource,
    namespace: string,
    name: string,
    subresource: string,
    given: JsonObject,
    options: WriteOptions = {},
  ): { readonly object: KubeObject; readonly isNew: boolean } {
    const stored = this.#store.get(resource.plural, namespace, name);
    const meta = objectAt(given, "metadata");
    if (stored === undefined) {
      const isKnown = textAt(meta, "uid") !== "" || textAt(meta, "resourceVersion") !== "";
      if (resource.createsOnUpdate !== true || subresource !== "" || isKnown) throw notFound(resource, name);
      return { object: this.create(resource, namespace, given, options), isNew: true };
    }
    const decoded = decodeObject(resource, given, stored, options);
    const uid = textAt(meta, "uid");
    if (uid !== "" && uid !== stored.metadata.uid) {
      const why = `StorageError: invalid object, Code: 4, Key: /registry/${resource.plural}/${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.metadata.uid}`;
      throw conflict(resource, name, why);
    }
    if (textAt(meta, "resourceVersion") === "" && resource.needsVersionOnUpdate === true) {
      throw invalid(resource.plural, resource.group, name, [
        invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
      ]);
    }
    return { object: this.#replace(resource, stored, decoded, subresource, options), isNew: false };
  }

  /** Replaces the object with the result of `change`, which may throw. */
  patch(
    resource: Resource,
    namespace: string,
    name: string,
    subresource: string,
    change: (current: KubeObject) => JsonObject,
    options: WriteOptions = {},
  ): KubeObject {
    const stored = this.get(resource, namespace, name);
    const decoded = decodePatched(resource, change(stored), stored, options);
    return this.#replace(resource, stored, decoded, subresource, options);
  }

  /** Removes the object, or sets its deletion timestamp while it has finalizers. */
  delete(
    resource: Resource,
    namespace: string,
    name: string,
    preconditions: JsonObject = {},
    options: WriteOptions = {},
  ): { readonly object: KubeObject; readonly isGone: boolean } {
    const stored = this.get(resource, namespace, name);
    for (const [field, what, end] of preconditionTexts) {
      const [wanted, actual] = [textAt(preconditions, field), stored.metadata[field]];
      if (wanted === "" || wanted === actual) continue;
      const why = `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${actual}). The object might have been ${end}`;
      throw conflict(resource, name, why, resource.kind);
    }
    if ((stored.metadata.finalizers ?? []).length > 0) {
      if (stored.metadata.deletionTimestamp !== undefined) return { object: stored, isGone: false };
      const deletion = { deletionTimestamp: timestamp(this.#clock.now()), deletionGracePeriodSeconds: 0 };
      const terminating = { ...stored, metadata: { ...stored.metadata, ...deletion } };
      return { object: this.#put(resource, terminating, options), isGone: false };
    }
    if (options.dryRun !== true) {
      this.#store.remove(resource, stored);
      if (resource.plural === "namespaces") this.#deleteContents(name);
    }
    return { object: stored, isGone: true };
  }

  #put(resource: Resource, object: KubeObject, { dryRun }: WriteOptions): KubeObject {
    return dryRun === true ? object : this.#store.put(resource, object);
  }

  #replace(
    resource: Resource,
    current: KubeObject,
    given: JsonObject,
    subresource: string,
    options: WriteOptions,
  ): KubeObject {
    const meta = objectAt(given, "metadata");
    const { name, namespace } = current.metadata;
    const ownName = textAt(meta, "name");
    if (ownName !== name) {
      throw badRequest(`the name of the object (${ownName}) does not match the name on the URL (${name})`);
    }
    requireNamespace(textAt(meta, "namespace"), namespace ?? "");
    const version = textAt(meta, "resourceVersion");
    if (version !== "" && version !== current.metadata.resourceVersion)
      throw conflict(resource, name, modified);
    const next = withManagers(mergeUpdate(resource, current, given, subresource), current, options.manager);
    const rules = rulesFor(resource.plural);
    const object = shareUnchanged(rules.defaults?.(next, current) ?? next, current);
    const causes = [...updateMetaCauses(object, current), ...(rules.validate?.(object, current) ?? [])];
    if (causes.length > 0) throw invalid(resource.kind, resource.group, name, causes);
    const ready = this.#allocate(resource, object, current);
    if (isSame(ready, current)) return current;
    const counted = withGeneration(resource, ready, current);
    const { deletionTimestamp, finalizers = [] } = counted.metadata;
    const isReleased = deletionTimestamp !== undefined && finalizers.length === 0;
    if (!isReleased) return this.#put(resource, counted, options);
    if (options.dryRun !== true) this.#store.remove(resource, counted);
    return counted;
  }

  #allocate({ plural }: Resource, object: KubeObject, before: KubeObject | undefined): KubeObject {
    return plural === "services" ? this.#allocator.allocate(object, before) : object;
  }

  #namespaceOf(resource: Resource, wanted: string, inObject: string): string {
    if (!resource.namespaced) return "";
    requireNamespace(inObject, wanted);
    if (this.#store.get("namespaces", "", wanted) === undefined) {
      throw notFound(resourceNamed("namespaces"), wanted);
    }
    return wanted;
  }

  #deleteContents(namespace: string): void {
    for (const resource of resources.filter(({ namespaced }) => namespaced)) {
      for (const object of [...this.#store.list(resource.plural, namespace)]) {
        this.delete(resource, namespace, object.metadata.name);
      }
    }
  }

  #generate(prefix: string): string {
    let name = prefix.slice(0, 58);
    for (let count = 0; count < 5; count++) {
      name += suffixLetters[Math.floor(this.#random.fraction() * suffixLetters.length)] ?? "x";
    }
    return name;
  }
}

function requireNamespace(given: string, wanted: string): void {
  if (given !== "" && given !== wanted)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/**
 * Records which client added each finalizer, the only part of the managed fields that the test API server keeps.
 * The first part of the user agent names a client. Returns the object as stored after a write by this client. A
 * write by a test, which has no user agent, may set the managed fields.
 */
function withManagers(next: KubeObject, before: KubeObject, manager: string | undefined): KubeObject {
  const known = (manager === undefined ? next : before).metadata.managedFields ?? [];
  const earlier = before.metadata.finalizers ?? [];
  const finalizers = next.metadata.finalizers ?? [];
  const added = manager === undefined ? [] : finalizers.filter((each) => !earlier.includes(each));
  const entries = [
    ...known.filter((entry) => finalizers.some((each) => isOf(entry, each))),
    ...added.map((each) => entryOf(each, manager ?? "")),
  ];
  if (isSame(entries, next.metadata.managedFields ?? [])) return next;
  return { ...next, metadata: { ...next.metadata, managedFields: entries } };
}

const keyOf = (finalizer: string): string => `v:"${finalizer}"`;

function isOf(entry: Json, finalizer: string): boolean {
  return keyOf(finalizer) in objectAt(entry, "fieldsV1", "f:metadata", "f:finalizers");
}

function entryOf(finalizer: string, manager: string): JsonObject {
  return {
    manager,
    operation: "Update",
    apiVersion: "v1",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:metadata": { "f:finalizers": { [keyOf(finalizer)]: {} } } },
  };
}
