// The explanation of a Node, a Service or a volume as plain data: the secure port serves it, and `explain` shows it. Pure.

import { byBlocking } from "../../controllers/problem-order.ts";
import { eventSources, uninitializedTaint } from "../../controllers/well-known.ts";
import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { formatDuration } from "../../core/duration.ts";
import { textOf } from "../../core/error-message.ts";
import { isProblem, type Problem } from "../../core/problem.ts";
import { withoutFullStop } from "../../core/text.ts";
import { describeChange, type JournalEntry } from "../../runtime/journal.ts";

export const describedKinds = ["Node", "Service", "PersistentVolumeClaim", "PersistentVolume"] as const;
export type DescribedKind = (typeof describedKinds)[number];

export const isAboutVolumes = (kind: DescribedKind): boolean => kind.startsWith("PersistentVolume");

export const isNamespaced = (kind: DescribedKind): boolean =>
  kind === "Service" || kind === "PersistentVolumeClaim";

/**
 * settled: as desired. working: a change is due or in progress. waiting: for the cloud, or for a proof. paused: by annotation.
 * held: nothing is changed until an operator decides, or the cloud recovers. problem: something must be fixed. unmanaged: Fairlead does
 * not manage it. unknown: the cloud did not answer the command that asks.
 */
export type State =
  | "settled"
  | "working"
  | "waiting"
  | "paused"
  | "held"
  | "problem"
  | "unmanaged"
  | "unknown";

/** A message about the object that applies now. */
export interface ObjectNote
  extends Pick<Problem, "severity" | "reason" | "cause" | "text" | "effect" | "remedy" | "promise"> {
  /** Whether a manager has reported the note in an event. */
  readonly isReported?: boolean;
  /** How long the manager has seen the problem. */
  readonly sinceSeconds?: number;
}

export interface DescribedDecision
  extends Pick<JournalEntry, "action" | "object" | "why" | "outcome" | "detail"> {
  /** The time in RFC 3339. */
  readonly at: string;
}

/** A larger number would hide the newest events. */
export const maxEvents = 8;

/** A Kubernetes event. */
export interface DescribedEvent {
  /** The time in RFC 3339. */
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly source: string;
}

export interface NamedObject {
  readonly kind: DescribedKind;
  /** `namespace/name` of a Service or a claim. */
  readonly name: string;
}

export interface Description extends NamedObject {
  readonly state: State;
  /** The state of the object, and its problem. */
  readonly summary: string;
  /** The remedy for the summary's problem. */
  readonly remedy?: string;
  /** The facts about the object, in display order. */
  readonly facts: Readonly<Record<string, string>>;
  /** The notes, the most important first. */
  readonly notes: readonly ObjectNote[];
  readonly nextAttemptInSeconds?: number;
  /** The last writes to the object, newest first. */
  readonly decisions: readonly DescribedDecision[];
  /** The events, newest first. Set only without a running manager, which knows more. */
  readonly events?: readonly DescribedEvent[];
}

/** Excludes events by other components, such as the kubelet, about these objects. */
const isByManager = ({ source }: DescribedEvent): boolean => eventSources.some((known) => known === source);

/** An outage since the first consecutive failure (monotonic). */
export interface CloudOutage {
  readonly error: unknown;
  readonly since: number;
  /** The name of the source, if there are several. */
  readonly source?: string | undefined;
}

/** Describes that the cloud does not answer, since when, and why. */
export function failingText({ error, since, source }: CloudOutage, now: number): string {
  const where = source === undefined ? "the cloud" : `source ${source} of the cloud`;
  return `requests to ${where} have failed for ${durationOf((now - since) / 1000)}: ${textOf(error)}`;
}

export const durationOf = (inSeconds: number): string => formatDuration(seconds(Math.round(inSeconds)));

/** A remark for facts that come from an earlier listing. */
export const listingsText = (failure: CloudOutage | undefined, now: number): string | undefined =>
  failure && `What is shown is old, and the present state is not known: ${failingText(failure, now)}`;

const outcomes: readonly string[] = ["SyncLoadBalancerFailed", "EnsuredLoadBalancer", "UpdatedLoadBalancer"];

/** A manager makes another attempt after this problem. */
export const isFailedAttempt = ({ reason }: Pick<ObjectNote, "reason">): boolean => reason === outcomes[0];

/** The last failed attempt of a manager; undefined if a later attempt succeeded. `events` begin with the newest. */
function failedAttempt(events: readonly DescribedEvent[]): DescribedEvent | undefined {
  const last = events.find(({ reason }) => outcomes.includes(reason));
  return last?.type === "Warning" ? last : undefined;
}

/** Describes a planned change. The last value of a patch may be a message that ends with a period. */
export const wouldText = (planned: DescribedDecision): string =>
  `Fairlead would ${withoutFullStop(describeChange(planned))}.`;

type Stated = Pick<Description, "state">;

/** Neither Fairlead nor a user needs to do anything. */
export const isSettled = ({ state }: Stated): boolean => state === "settled" || state === "unmanaged";

/** The object stays in this state until something else changes. */
export const isStuck = ({ state }: Stated): boolean =>
  state === "waiting" || state === "held" || state === "problem";

export type Judgement = Pick<Description, "state" | "summary" | "remedy">;

/** The manager's state of an object, beyond the object's fields. Almost empty without a manager. */
export interface KnownState {
  /** The controllers' findings about the object, and about all objects of its kind. */
  readonly notes: readonly ObjectNote[];
  /** True if the object waits for a worker, or a worker is processing it. */
  readonly isDue: boolean;
  readonly nextAttemptInSeconds: number | undefined;
}

export interface Describable extends NamedObject, Pick<KnownState, "notes" | "nextAttemptInSeconds"> {
  /** Events from managers and other components, newest first. Unset if the manager itself describes the object. */
  readonly events?: readonly DescribedEvent[] | undefined;
  /** How the journal names the object and its parts. */
  readonly journalNames: readonly string[];
  /** In observe mode, the decisions show what would be done. */
  judge(notes: readonly ObjectNote[], decisions: readonly DescribedDecision[]): Judgement;
  /** Facts in display order. */
  facts(): Description["facts"];
}

/** Omits what takes time for thousands of objects. */
export type Brief = Omit<Description, "facts" | "decisions">;

export function briefly(subject: Describable, decisions: readonly DescribedDecision[] = []): Brief {
  const { kind, name, nextAttemptInSeconds } = subject;
  return defined({ kind, name, ...judgeWithEvents(subject, decisions), nextAttemptInSeconds });
}

export function describe(subject: Describable, entries: readonly JournalEntry[] = []): Description {
  const { kind, name, journalNames, events } = subject;
  const decisions = decisionsAbout(entries, journalNames, kind === "Service" ? name : undefined);
  return defined({ ...briefly(subject, decisions), facts: subject.facts(), decisions, events });
}

/** A larger number would hide the newest decisions. */
const maxDecisions = 8;

/**
 * The last writes about one object, newest first. `objects` are the journal's names of the object and its parts, such as
 * `balancer/…`. Reasons that concern the object begin with `subject`.
 */
export function decisionsAbout(
  entries: readonly JournalEntry[],
  objects: readonly string[],
  subject?: string,
): readonly DescribedDecision[] {
  const seen = new Set<string>();
  const isAbout = ({ object, why }: JournalEntry): boolean =>
    objects.includes(object) || (subject !== undefined && why.startsWith(`${subject}: `));
  // Changes are planned again at each evaluation; the latest plan counts.
  const isNews = ({ object, action, why, outcome }: JournalEntry): boolean => {
    const plan = `${object} ${action} ${why}`;
    return outcome !== "observed" || (!seen.has(plan) && seen.add(plan) !== undefined);
  };
  return entries
    .filter(isAbout)
    .toReversed()
    .filter(isNews)
    .slice(0, maxDecisions)
    .map(({ at, action, object, why, outcome, detail }) =>
      defined({ at: new Date(at).toISOString(), action, object, why, outcome, detail }),
    );
}

/**
 * The conclusion including events, for an unsettled object. The last failed attempt is a note, because the cloud's rejections
 * are unknown before a request. If nothing else explains the state, a manager's newest event does, if it is a warning.
 */
function judgeWithEvents(
  subject: Describable,
  decisions: readonly DescribedDecision[],
): Judgement & { readonly notes: readonly ObjectNote[] } {
  const events = (subject.events ?? []).filter(isByManager);
  const notes = sortNotes(subject.notes);
  const own = subject.judge(notes, decisions);
  const [newest] = events;
  const isUnexplained = own.state === "working" && notes.length === 0;
  const reported = failedAttempt(events) ?? (isUnexplained ? newest : undefined);
  const isOpen = own.state === "working" || isStuck(own);
  if (reported?.type !== "Warning" || !isOpen) return { ...own, notes };
  const { reason, message } = reported;
  // The manager's condition has the same text.
  if (notes.some((note) => note.reason === reason || message.includes(note.text))) return { ...own, notes };
  const text = `A manager reported: ${message}`;
  const all = sortNotes([...notes, { severity: "error", reason, text, isReported: true } as const]);
  return { ...subject.judge(all, decisions), notes: all };
}

/** Without a leader, nothing is settled: the next change of the object would have no effect. */
export function withoutLeader(description: Description, noLeader: Problem): Description {
  const { state, summary, notes } = description;
  if (state === "unmanaged") return description;
  const [first] = notes;
  const isSaid = state === "problem" && first?.reason === "NoLeader";
  return {
    ...description,
    state: state === "held" || state === "paused" ? state : "problem",
    summary: isSaid ? summary : `${noLeader.text} ${summary}`,
    notes: sortNotes([
      { ...noLeader, reason: "NoLeader" },
      ...notes.filter(({ reason }) => reason !== "NoLeader"),
    ]),
  };
}

/** Consequences of the cloud's answers; unknown to a command that got no answer. */
const fromCloud: ReadonlySet<string> = new Set([
  ...["CloudUnavailable", "CloudAuthFailed", "CloudPermissionMissing", "CloudThrottled", "RefusedByCloud"],
  ...["SyncLoadBalancerFailed", "RoutesUnknown", "ProofOfAbsence"],
]);

/** The facts from the API server. */
function knownOf({ kind, facts }: Description): string {
  const isReady = facts["Ready"] === "True";
  if (kind === "Node" && facts["Taints"]?.includes(uninitializedTaint) === true)
    return `It is ${isReady ? "Ready" : "not Ready"} and not initialized.`;
  if (kind === "Node") return isReady ? "It is Ready and initialized." : "It is initialized but not Ready.";
  const { Addresses: addresses = "none", Deletion: deletion } = facts;
  if (deletion !== undefined) return "It is being deleted.";
  if (addresses === "none") return "It has no address yet.";
  return `It has the address${addresses.includes(",") ? "es" : ""} ${addresses}.`;
}

/** Used if the cloud does not answer the command: contains the API server's data and a manager's reports. */
export function withoutCloud(description: Description, cause: Problem): Description {
  const { kind, state } = description;
  if (state === "unmanaged" || state === "paused" || isAboutVolumes(kind)) return description;
  const notes = description.notes.filter(
    ({ reason, isReported }) => !fromCloud.has(reason) || isReported === true,
  );
  const [first] = notes.filter((note) => isProblem(note) || note.severity === "hold");
  const known = knownOf(description);
  // The first note says the same.
  const { Listings: _, ...facts } = description.facts;
  return {
    ...description,
    facts,
    state: "unknown",
    ...(first === undefined ? { summary: known } : summaryWith(`${known} `, first)),
    notes: sortNotes([cause, ...notes]),
  };
}

/** The most blocking finding first, without duplicates. */
function sortNotes(notes: readonly ObjectNote[]): readonly ObjectNote[] {
  const distinct = new Map(notes.map((note) => [`${note.reason} ${note.text}`, note]));
  return byBlocking([...distinct.values()]);
}

/**
 * Conditions contain at most what the controller that wrote them says. They matter only without a message from the controller.
 */
export const isExplained = (notes: readonly ObjectNote[]): boolean =>
  notes.some(({ severity }) => severity === "hold" || severity === "error");

/** The state that the notes alone imply; undefined if they are only notices. */
export function stateOf(notes: readonly ObjectNote[]): State | undefined {
  const states = {
    error: "problem",
    hold: "held",
    wait: "waiting",
    warning: "problem",
    hint: undefined,
    notice: undefined,
  } as const;
  return notes.map(({ severity }) => states[severity]).find((state) => state !== undefined);
}

/** A summary with the problem and the remedy. */
export function summaryWith(lead: string, { text, remedy }: ObjectNote, end = ""): Omit<Judgement, "state"> {
  return defined({ summary: `${lead}${/[.?]$/.test(text) ? text : `${text}.`}${end}`, remedy });
}
