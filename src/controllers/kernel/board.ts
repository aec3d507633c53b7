// The current findings about objects. A controller reports problems by topic; the board keeps them for all pages, metrics
// and commands, and a reporter sends new problems as events. A lasting problem is sent once, and again when it returns or
// after a restart.

import { messageIn, type Problem } from "../../core/problem.ts";
import { byBlocking } from "../problem-order.ts";

export interface ControllerReport {
  /** By object name: `node-1`, `default/shop`. An object without a problem has no entry. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

const identityOf = (problem: Problem): string =>
  `${problem.reason} ${problem.identity ?? messageIn(problem)}`;

/** The current findings of an object. */
export class ObjectBoard<Topic extends string> {
  readonly #byTopic = new Map<Topic, ReadonlyMap<string, Problem>>();

  get topics(): Iterable<Topic> {
    return this.#byTopic.keys();
  }

  get all(): readonly Problem[] {
    return [...this.#byTopic.values()].flatMap((problems) => [...problems.values()]);
  }

  of(topic: Topic): readonly Problem[] {
    return [...(this.#byTopic.get(topic)?.values() ?? [])];
  }

  /** Replaces the topic's previous findings. Returns the new findings. */
  put<P extends Problem>(topic: Topic, problems: readonly P[]): readonly P[] {
    const before = this.#byTopic.get(topic);
    const now = new Map(byBlocking(problems).map((problem) => [identityOf(problem), problem]));
    if (now.size === 0) this.#byTopic.delete(topic);
    else this.#byTopic.set(topic, now);
    return [...now].flatMap(([identity, problem]) => (before?.has(identity) === true ? [] : problem));
  }

  clear(): void {
    this.#byTopic.clear();
  }
}

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** The board of a controller, by object name. A new object that reuses a name starts without findings. */
export class Board<Topic extends string> {
  readonly #byName = new Map<string, { readonly uid: string; readonly board: ObjectBoard<Topic> }>();

  get names(): Iterable<string> {
    return this.#byName.keys();
  }

  get problems(): ControllerReport["problems"] {
    return new Map([...this.#byName].map(([name, { board }]) => [name, board.all]));
  }

  /** The findings of this object, by topic. */
  of({ metadata: { name, uid } }: Named, topic: Topic): readonly Problem[] {
    const known = this.#byName.get(name);
    return known?.uid === uid ? known.board.of(topic) : [];
  }

  at(name: string): readonly Problem[] {
    return this.#byName.get(name)?.board.all ?? [];
  }

  put({ metadata: { name, uid } }: Named, topic: Topic, problems: readonly Problem[]): readonly Problem[] {
    const known = this.#byName.get(name);
    const record = known?.uid === uid ? known : { uid, board: new ObjectBoard<Topic>() };
    const news = record.board.put(topic, problems);
    this.#keep(name, record);
    return news;
  }

  /** Without a topic, forgets everything about the object. */
  forget(name: string, topic?: Topic): void {
    const record = this.#byName.get(name);
    if (topic === undefined) record?.board.clear();
    else record?.board.put(topic, []);
    if (record !== undefined) this.#keep(name, record);
  }

  forgetAllBut(names: ReadonlySet<string>): void {
    for (const name of this.#byName.keys()) if (!names.has(name)) this.#byName.delete(name);
  }

  #keep(name: string, record: { readonly uid: string; readonly board: ObjectBoard<Topic> }): void {
    if (record.board.all.length === 0) this.#byName.delete(name);
    else this.#byName.set(name, record);
  }
}

type Send<Subject, Topic> = (object: Subject, problem: Problem, topic?: Topic) => void;

/** Changes the object's board, and returns the new findings. */
interface Boards<Subject, Topic> {
  put(object: Subject, topic: Topic, problems: readonly Problem[]): readonly Problem[];
}

export class Reporter<Subject, Topic extends string> {
  readonly #send: Send<Subject, Topic>;
  readonly #boards: Boards<Subject, Topic>;

  constructor(send: Send<Subject, Topic>, boards: Boards<Subject, Topic>) {
    this.#send = send;
    this.#boards = boards;
  }

  /** Sends an event about something temporary. */
  publish(object: Subject, problem: Problem, topic?: Topic): void {
    if (problem.reason !== "") this.#send(object, problem, topic);
  }

  /** Replaces the topic's previous findings. Sends the new findings. */
  report(object: Subject, topic: Topic, problems: readonly Problem[]): void {
    for (const problem of this.#boards.put(object, topic, problems)) this.publish(object, problem, topic);
  }
}
