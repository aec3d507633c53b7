// Reports what applies to objects, for all controllers. A controller says what applies to an object now, by topic: the reporter sends
// what is new as events, and keeps all of it for `report()`. What lasts is sent once, and again when it returns or after a restart.

import { defined } from "../core/defined.ts";
import type { Problem, Severity } from "../core/problem.ts";
import { byBlocking, type Ranked } from "./problem-order.ts";

/** A message that applies to an object now. It contains what to do. Pages, metrics and commands read findings and nothing else. */
export interface Finding extends Ranked, Partial<Attempts> {
  readonly text: string;
}

export interface ControllerReport {
  /** By the name of the object: `node-1`, `default/shop`. An object without a finding is absent. */
  readonly findings: ReadonlyMap<string, readonly Finding[]>;
}

/** The reason of notices. */
export const noticeReason = "Notice";

/** The sources of a manager's events. The first four are also those of the Go managers. */
export const eventSources = [
  "cloud-node-controller",
  "cloud-node-lifecycle-controller",
  "service-controller",
  "route_controller",
  "volume-controller",
  "kubelet-serving-csr-controller",
  "tagging-controller",
] as const;
export type EventSource = (typeof eventSources)[number];

export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  /** An event without a reason is not sent. */
  readonly reason: string;
  readonly message: string;
  /** Not logged: its completion is logged, or one line covers many objects. */
  readonly quiet?: true;
  /** What the event is about, if its message may change, such as a remaining time, without being news. Absent: the message. */
  readonly identity?: string;
  /** See `Ranked`. */
  readonly cause?: string;
  readonly severity?: Severity;
}

export interface Attempts {
  /** Failed attempts in a row. */
  readonly attempts: number;
  /** When the object got a finding with this reason, monotonic. */
  readonly since: number;
}

/** The last events of a topic, by reason and identity. */
export interface Reported extends Partial<Attempts> {
  readonly events: ReadonlyMap<string, ObjectEvent>;
}

/** Remembers what was reported about each object. */
export interface ReportStore<Subject, Topic> {
  of(object: Subject): ReadonlyMap<Topic, Reported>;
  /** Undefined: nothing of the topic applies any more. */
  put(object: Subject, topic: Topic, reported: Reported | undefined): void;
}

export class Reporter<Subject, Topic extends string> {
  readonly #send: (object: Subject, event: ObjectEvent, topic?: Topic) => void;
  readonly #store: ReportStore<Subject, Topic>;

  constructor(
    send: (object: Subject, event: ObjectEvent, topic?: Topic) => void,
    store: ReportStore<Subject, Topic>,
  ) {
    this.#send = send;
    this.#store = store;
  }

  /** Sends an event about something that does not last. */
  publish(object: Subject, event: ObjectEvent, topic?: Topic): void {
    if (event.reason !== "") this.#send(object, event, topic);
  }

  /** These events apply now, instead of the topic's last ones. Sends those that are new. */
  report(object: Subject, topic: Topic, events: readonly ObjectEvent[], attempts?: Partial<Attempts>): void {
    const before = this.#store.of(object).get(topic)?.events;
    if (events.length === 0 && before === undefined) return;
    const ordered = byBlocking(events, rankedEvent);
    const now = new Map(
      ordered.map((event) => [`${event.reason} ${event.identity ?? event.message}`, event]),
    );
    this.#store.put(object, topic, now.size === 0 ? undefined : { events: now, ...attempts });
    for (const [identity, event] of now)
      if (before?.has(identity) !== true) this.publish(object, event, topic);
  }
}

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** By name. A new object with the name of another one begins without its reports. */
export class ReportsByName<Topic extends string> implements ReportStore<Named, Topic> {
  readonly #byName = new Map<string, { readonly uid: string; readonly topics: Map<Topic, Reported> }>();

  get names(): Iterable<string> {
    return this.#byName.keys();
  }

  of({ metadata: { name, uid } }: Named): ReadonlyMap<Topic, Reported> {
    if (this.#byName.get(name)?.uid !== uid) this.#byName.delete(name);
    return this.get(name);
  }

  get(name: string): ReadonlyMap<Topic, Reported> {
    return this.#byName.get(name)?.topics ?? new Map();
  }

  put({ metadata: { name, uid } }: Named, topic: Topic, reported: Reported | undefined): void {
    if (reported === undefined) {
      this.forget(name, topic);
      return;
    }
    const record = this.#byName.get(name) ?? { uid, topics: new Map<Topic, Reported>() };
    record.topics.set(topic, reported);
    this.#byName.set(name, record);
  }

  /** Without a topic: everything about the object. */
  forget(name: string, topic?: Topic): void {
    const topics = this.#byName.get(name)?.topics;
    if (topic !== undefined) topics?.delete(topic);
    if (topic === undefined || topics?.size === 0) this.#byName.delete(name);
  }

  forgetAllBut(names: ReadonlySet<string>): void {
    for (const name of this.#byName.keys()) if (!names.has(name)) this.#byName.delete(name);
  }
}

const rankedEvent = (event: ObjectEvent): Ranked => ({
  ...event,
  kind: event.type === "Warning" ? "problem" : "wait",
});

/** Only a warning names its severity. */
const severityOf = ({ severity }: Pick<Problem, "severity">) => (severity === "warning" ? { severity } : {});

export function problemEvent({
  reason,
  text,
  severity,
  identity,
}: Problem & Pick<ObjectEvent, "identity">): ObjectEvent {
  return defined({ type: "Warning" as const, reason, message: text, identity, ...severityOf({ severity }) });
}

export function problemFinding({ reason, text, severity }: Problem): Finding {
  return { kind: "problem", reason, text, ...severityOf({ severity }) };
}

/** Topics that decide the kind of their findings. For other topics, the type of the event decides. */
const kindOfTopic: Readonly<Partial<Record<string, Finding["kind"]>>> = {
  hold: "hold",
  notices: "notice",
  waiting: "wait",
};

/** The findings of one topic that apply now. */
export function findingsIn(topic: string, reported: Reported | undefined): readonly Finding[] {
  const { events, attempts, since } = reported ?? {};
  return [...(events?.values() ?? [])].map(({ type, reason: own, cause, severity, message: text }) => {
    const kind = kindOfTopic[topic] ?? (type === "Warning" ? "problem" : "wait");
    const reason = kind === "notice" ? noticeReason : own;
    return defined({ kind, reason, cause, severity, text, attempts, since });
  });
}

/** All findings that apply to an object now. */
export const allFindings = (topics: ReadonlyMap<string, Reported>): readonly Finding[] =>
  [...topics].flatMap(([topic, reported]) => findingsIn(topic, reported));
